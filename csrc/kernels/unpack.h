// The codes of a group, as bytes.
#pragma once

#include <cstdint>

#include "../packed.h"

namespace vilfredo {
namespace {

// Vector v of a group's codes: byte b of a lane is the code of column 4v + b.
template <class V, Layout L, int v>
inline typename V::Codes codes_at(const uint8_t* group) {
  constexpr int bytes = 4 * V::kLanes;
  if constexpr (L == Layout::kInt8) {
    return V::load_codes(group + v * bytes);
  } else {
    const auto both = V::load_codes(group + v % 4 * bytes);
    const auto low = v < 4 ? V::low_nibbles(both) : V::high_nibbles(both);
    if constexpr (L == Layout::kInt4) {
      return low;
    } else {
      constexpr int high = L == Layout::kInt5 ? 1 : 2, each = 8 / high;  // columns of a byte
      constexpr int from = v % each * high, mask = ((1 << high) - 1) << 4;
      return V::template add_bits<4 - from, mask>(
          low, V::load_codes(group + (4 + v / each) * bytes));
    }
  }
}

// Calls work(codes, v) for the vectors [Begin, End), those that share bytes one after the other
// where all eight are asked for.
template <class V, Layout L, int Begin, int End, class Work>
inline void each_codes(const uint8_t* group, const Work& work) {
  if constexpr (Begin == 0 && End == 8 && L != Layout::kInt8) {
    const auto both = [&]<int v>() {
      work(codes_at<V, L, v>(group), v);
      work(codes_at<V, L, v + 4>(group), v + 4);
    };
    both.template operator()<0>();
    both.template operator()<1>();
    both.template operator()<2>();
    both.template operator()<3>();
  } else if constexpr (Begin < End) {
    work(codes_at<V, L, Begin>(group), Begin);
    each_codes<V, L, Begin + 1, End>(group, work);
  }
}

}  // namespace
}  // namespace vilfredo
