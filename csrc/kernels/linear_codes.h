// out = x · weightᵀ for weights in integer codes.
//
// The sums inside a group are integers and so exact; groups are added in order, one chain a row and
// column. So a result does not depend on how many columns are computed at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../simd/math.h"
#include "../table.h"

namespace vilfredo {
namespace {

// Adds dots to 32-bit totals, widening only as often as the codes' width demands.
template <class V, int Bits, int Columns>
struct GroupSums {
  using I = typename V::I;
  static constexpr int kDots = V::dots_before_widening(Bits);
  static constexpr bool kNibbles = kDots == 0;  // too wide for one dot: low and high nibbles apart

  typename V::Dot low[Columns], high[Columns];
  I total[Columns];
  int held = 0;

  void clear() {
    for (int c = 0; c < Columns; ++c) {
      low[c] = high[c] = V::zero_dot();
      total[c] = V::zero_int();
    }
    held = 0;
  }
  void dot(typename V::Codes codes, const int8_t* const* x, int64_t offset) {
    if constexpr (kNibbles) {
      const auto low_codes = V::low_nibbles(codes), high_codes = V::high_nibbles(codes);
      for (int c = 0; c < Columns; ++c) {
        const auto bytes = V::broadcast(x[c] + offset);
        low[c] = V::dot(low[c], low_codes, bytes);
        high[c] = V::dot(high[c], high_codes, bytes);
      }
    } else {
      for (int c = 0; c < Columns; ++c)
        low[c] = V::dot(low[c], codes, V::broadcast(x[c] + offset));
      if (++held == kDots) widen();
    }
  }
  void widen() {
    for (int c = 0; c < Columns; ++c) {
      total[c] = V::add(total[c], V::widen(low[c]));
      low[c] = V::zero_dot();
    }
    held = 0;
  }
  I finish(int c) const {
    const I sum = V::add(total[c], V::widen(low[c]));
    if constexpr (kNibbles) return V::add(sum, V::template shift_left<4>(V::widen(high[c])));
    return sum;
  }
};

// Rows of one tile times `Columns` columns of x.
template <class V, Layout L, int Bits, bool Minima, int Scales, int Columns>
void tile_product(const uint8_t* tile, const Activations& x, int64_t first, float gain,
                  typename V::F* out) {
  using F = typename V::F;
  constexpr Form form{L, Bits, Minima, Scales};
  constexpr size_t group_bytes = form.group_bytes(V::kLanes);
  constexpr size_t code_bytes = form.code_bytes(V::kLanes);
  constexpr int vector_bytes = 4 * V::kLanes;
  constexpr int steps = 8 / Scales;  // dots of four columns that share a scale

  const int64_t groups = x.columns / kGroup;
  const int8_t* codes[Columns];
  const float* scales[Columns];
  const int32_t* sums[Columns];
  F total[Columns];
  for (int c = 0; c < Columns; ++c) {
    codes[c] = x.codes.data() + (first + c) * x.columns;
    scales[c] = x.scales.data() + (first + c) * groups;
    sums[c] = x.sums.data() + (first + c) * groups * 2;
    total[c] = V::zero();
  }
  for (int64_t g = 0; g < groups; ++g, tile += group_bytes) {
    const auto* halves = reinterpret_cast<const uint16_t*>(tile + code_bytes);
    for (int part = 0; part < Scales; ++part) {
      GroupSums<V, Bits, Columns> sum;
      sum.clear();
      if constexpr (L == Layout::kInt4) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
          const auto both = V::load_codes(tile + v * vector_bytes);
          sum.dot(V::low_nibbles(both), codes, g * kGroup + 4 * v);
          sum.dot(V::high_nibbles(both), codes, g * kGroup + 16 + 4 * v);
        }
      } else {
#pragma GCC unroll 8
        for (int step = 0; step < steps; ++step) {
          const int v = part * steps + step;
          sum.dot(V::load_codes(tile + v * vector_bytes), codes, g * kGroup + 4 * v);
        }
      }
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
      for (int c = 0; c < Columns; ++c) {
        const auto x_sum = static_cast<float>(sums[c][2 * g] + sums[c][2 * g + 1]);
        total[c] = V::fma(minimum, V::set(scales[c][g] * x_sum), total[c]);
      }
    }
  }
  for (int c = 0; c < Columns; ++c) out[c] = V::mul(total[c], V::set(gain));
}

template <class V, Layout L, int Bits, bool Minima, int Scales>
struct CodesProduct {
  const Packed& weight;
  const Activations& x;
  const float* bias;
  float* out;

  // Rows of `tile` times the columns [first, last), `Columns` at a time and then fewer.
  template <int Columns = V::kColumns>
  void operator()(int64_t tile, int64_t first, int64_t last) const {
    const int64_t row = tile * V::kLanes, count = std::min<int64_t>(V::kLanes, weight.rows - row);
    const typename V::F added = bias ? load_at<V>(bias + row, count) : V::zero();
    for (; first + Columns <= last; first += Columns) {
      typename V::F result[Columns];
      tile_product<V, L, Bits, Minima, Scales, Columns>(weight.tile(tile), x, first, weight.gain,
                                                        result);
      for (int c = 0; c < Columns; ++c)
        store_at<V>(out + (first + c) * weight.rows + row, V::add(result[c], added), count);
    }
    if constexpr (Columns > 1)
      if (first < last) operator()<Columns / 2>(tile, first, last);
  }
};

}  // namespace
}  // namespace vilfredo
