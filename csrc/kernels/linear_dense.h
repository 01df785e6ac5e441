// out = x · weightᵀ for weights in 16- or 32-bit floats.
//
// Four chains a row and column, over columns k mod 4, added at the end: the same for any number of
// columns at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../simd/math.h"
#include "../table.h"

namespace vilfredo {
namespace {

template <class V, Layout L>
typename V::F load_dense(const uint8_t* p) {
  if constexpr (L == Layout::kHalf) return V::load_half(reinterpret_cast<const uint16_t*>(p));
  if constexpr (L == Layout::kBfloat) return V::load_bfloat(reinterpret_cast<const uint16_t*>(p));
  if constexpr (L == Layout::kFloat) return V::load(reinterpret_cast<const float*>(p));
}

template <class V, Layout L>
struct DenseProduct {
  const LinearPart& part;

  template <int Columns = V::kColumns / 2>
  void operator()(int64_t tile, int64_t first, int64_t last) const {
    using F = typename V::F;
    constexpr int vector_bytes = V::kLanes * (L == Layout::kFloat ? 4 : 2);
    const Packed& weight = part.linear.weight;
    const float *x = part.x, *bias = part.linear.bias;
    const int64_t width = weight.columns;
    const int64_t row = tile * V::kLanes, count = std::min<int64_t>(V::kLanes, weight.rows - row);
    const F added = bias ? load_at<V>(bias + row, count) : V::zero();
    for (; first + Columns <= last; first += Columns) {
      const uint8_t* p = weight.tile(tile);
      F chain[Columns][4];
      for (int c = 0; c < Columns; ++c)
        for (F& sum : chain[c]) sum = V::zero();
      const auto column = [&](int64_t k, int which) {
        const F lanes = load_dense<V, L>(p);
        p += vector_bytes;
        for (int c = 0; c < Columns; ++c)
          chain[c][which] = V::fma(lanes, V::set(x[(first + c) * width + k]), chain[c][which]);
      };
      int64_t k = 0;
      for (; k + 4 <= width; k += 4)
        for (int which = 0; which < 4; ++which) column(k + which, which);
      for (int which = 0; which < 3; ++which)
        if (k + which < width) column(k + which, which);
      for (int c = 0; c < Columns; ++c) {
        const F sum = V::add(V::add(chain[c][0], chain[c][1]), V::add(chain[c][2], chain[c][3]));
        store_at<V>(part.linear.out + (first + c) * weight.rows + row, V::add(sum, added),
                    count);
      }
    }
    if constexpr (Columns > 1)
      if (first < last) operator()<Columns / 2>(tile, first, last);
  }
};

}  // namespace
}  // namespace vilfredo
