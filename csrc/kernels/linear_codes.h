// out = x · weightᵀ for weights in integer codes.
//
// The sums inside a group are integers and so exact; groups are added in order, one chain a row and
// column. So a result does not depend on how many columns are computed at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../simd/math.h"
#include "../table.h"
#include "unpack.h"

namespace vilfredo {
namespace {

// Dot products of one byte of each activation, added to 32-bit totals and widened only as often as
// the codes' width demands.
template <class V, int Bits>
class ByteSums {
  using I = typename V::I;
  static constexpr int kDots = V::dots_before_widening(Bits);
  static constexpr bool kNibbles = kDots == 0;  // too wide for one dot: low and high nibbles apart

 public:
  void clear() {
    low_ = high_ = V::zero_dot();
    total_ = V::zero_int();
    held_ = 0;
  }
  void dot(typename V::Codes codes, typename V::Bytes x) {
    if constexpr (kNibbles) {
      low_ = V::dot(low_, V::low_nibbles(codes), x);
      high_ = V::dot(high_, V::high_nibbles(codes), x);
    } else {
      low_ = V::dot(low_, codes, x);
      if (++held_ == kDots && kDots < 8) {
        total_ = V::add(total_, V::widen(low_));
        low_ = V::zero_dot();
        held_ = 0;
      }
    }
  }
  I finish() const {
    if constexpr (kNibbles)
      return V::add(V::widen(low_), V::template shift_left<4>(V::widen(high_)));
    else if constexpr (kDots < 8)
      return held_ ? V::add(total_, V::widen(low_)) : total_;
    else
      return V::widen(low_);
  }

 private:
  typename V::Dot low_, high_;
  I total_;
  int held_;
};

// The exact integer dot product of a lane's codes with 16-bit activations.
template <class V, int Bits, int Columns>
struct GroupSums {
  ByteSums<V, Bits> high[Columns], low[Columns];

  void clear() {
    for (int c = 0; c < Columns; ++c) {
      high[c].clear();
      low[c].clear();
    }
  }
  void dot(typename V::Codes codes, const int8_t* const* high_bytes, const int8_t* const* low_bytes,
           int64_t offset) {
    for (int c = 0; c < Columns; ++c) {
      high[c].dot(codes, V::broadcast(high_bytes[c] + offset));
      low[c].dot(codes, V::broadcast(low_bytes[c] + offset));
    }
  }
  typename V::I finish(int c) const {
    return V::add(V::template shift_left<8>(high[c].finish()), low[c].finish());
  }
};

// How far ahead of the codes in use memory is asked for, in bytes: hardware prefetchers stop at the
// border of a page, a few of which make a tile.
constexpr size_t kPrefetched = 8192;

// Rows of one tile times `Columns` columns of x.
template <class V, Layout L, int Bits, bool Minima, int Scales, int Columns>
void tile_product(const uint8_t* tile, const Activations& x, int64_t columns, int64_t first,
                  float gain, typename V::F* out) {
  using F = typename V::F;
  constexpr Form form{L, Bits, Minima, Scales};
  constexpr size_t group_bytes = form.group_bytes(V::kLanes);
  constexpr size_t code_bytes = form.code_bytes(V::kLanes);
  constexpr int steps = 8 / Scales;  // dots of four columns that share a scale

  const int64_t groups = columns / kGroup;
  const int8_t *high[Columns], *low[Columns];
  const float *scales[Columns], *weighted[Columns];
  const int32_t* sums[Columns];
  F total[Columns];
  for (int c = 0; c < Columns; ++c) {
    high[c] = x.high.data() + (first + c) * columns;
    low[c] = x.low.data() + (first + c) * columns;
    scales[c] = x.scales.data() + (first + c) * groups;
    weighted[c] = x.weighted.data() + (first + c) * groups;
    sums[c] = x.sums.data() + (first + c) * groups * 2;
    total[c] = V::zero();
  }
  for (int64_t g = 0; g < groups; ++g, tile += group_bytes) {
    for (size_t line = 0; line < group_bytes; line += 64) __builtin_prefetch(tile + kPrefetched + line);
    const auto* halves = reinterpret_cast<const uint16_t*>(tile + code_bytes);
#pragma GCC unroll 2
    for (int part = 0; part < Scales; ++part) {
      GroupSums<V, Bits, Columns> sum;
      sum.clear();
      const auto add = [&](typename V::Codes codes, int v) {
        sum.dot(codes, high, low, g * kGroup + 4 * v);
      };
      if (part == 0)
        each_codes<V, L, 0, steps>(tile, add);
      else
        each_codes<V, L, 8 - steps, 8>(tile, add);
      const F scale = V::load_half(halves + part * V::kLanes);
      for (int c = 0; c < Columns; ++c) {
        typename V::I whole = sum.finish(c);
        if constexpr (!Minima) {
          const int32_t x_sum =
              Scales == 2 ? sums[c][2 * g + part] : sums[c][2 * g] + sums[c][2 * g + 1];
          whole = V::sub(whole, V::template shift_left<Bits - 1>(V::set_int(x_sum)));
        }
        total[c] = V::fma(V::to_float(whole), V::mul(scale, V::set(scales[c][g])), total[c]);
      }
    }
    if constexpr (Minima) {
      const F minimum = V::load_half(halves + Scales * V::kLanes);
      for (int c = 0; c < Columns; ++c)
        total[c] = V::fma(minimum, V::set(weighted[c][g]), total[c]);
    }
  }
  for (int c = 0; c < Columns; ++c) out[c] = V::mul(total[c], V::set(gain));
}

template <class V, Layout L, int Bits, bool Minima, int Scales>
struct CodesProduct {
  const LinearPart& part;

  // Rows of `tile` times the columns [first, last), `Columns` at a time and then fewer.
  template <int Columns = V::kColumns>
  void operator()(int64_t tile, int64_t first, int64_t last) const {
    const Packed& weight = part.linear.weight;
    const int64_t row = tile * V::kLanes, count = std::min<int64_t>(V::kLanes, weight.rows - row);
    const float* bias = part.linear.bias;
    const typename V::F added = bias ? load_at<V>(bias + row, count) : V::zero();
    for (; first + Columns <= last; first += Columns) {
      typename V::F result[Columns];
      tile_product<V, L, Bits, Minima, Scales, Columns>(
          weight.tile(tile), part.prepared, weight.columns, first, weight.gain, result);
      for (int c = 0; c < Columns; ++c)
        store_at<V>(part.linear.out + (first + c) * weight.rows + row, V::add(result[c], added),
                    count);
    }
    if constexpr (Columns > 1)
      if (first < last) operator()<Columns / 2>(tile, first, last);
  }
};

}  // namespace
}  // namespace vilfredo
