// out = x · weightᵀ for integer codes and a few rows of x, on the matrix unit.
//
// The unit sums the products of bytes of one group exactly; what follows is, step by step, what
// linear_codes.h does, and so is the result, to the last bit.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "../table.h"
#include "linear_codes.h"
#include "tile_unit.h"

namespace vilfredo {
namespace {

// `Rows` rows of x, 8 or 16, of which the last may be no one's.
template <Layout L, int Bits, bool Minima, int Scales, int Rows>
class TileIntegers {
  static constexpr Form form{L, Bits, Minima, Scales};
  static constexpr int kPartColumns = kGroup / Scales;  // that share a scale
  static constexpr int64_t kGroupBytes = form.group_bytes(16);
  // Groups that the unit is ahead: what either side stores must reach the cache before the other
  // reads it.
  static constexpr int64_t kAhead = 1, kRing = 2;

 public:
  static constexpr TileShape kShape{Rows, kPartColumns};

  TileIntegers(const LinearPart& part, int64_t first)
      : weight_(part.linear.weight), columns_(weight_.columns), groups_(columns_ / kGroup),
        high_(part.prepared.high.data() + first * columns_),
        low_(part.prepared.low.data() + first * columns_),
        scales_(part.prepared.scales.data() + first * groups_),
        sums_(part.prepared.sums.data() + first * groups_ * 2),
        weighted_(part.prepared.weighted.data() + first * groups_) {}

  // Sums of products with the 16 rows of a tile, one vector a row of x.
  void run(int64_t tile, __m512* total) {
    const uint8_t* group = weight_.tile(tile);
    for (int r = 0; r < Rows; ++r) total[r] = _mm512_setzero_ps();
    for (int64_t g = 0; g < std::min(kAhead, groups_); ++g) multiply(group + g * kGroupBytes, g);
    for (int64_t g = 0; g < groups_; ++g, group += kGroupBytes) {
      for (int64_t line = 0; line < kGroupBytes; line += 64)
        __builtin_prefetch(group + kPrefetched + line);
      if (g + kAhead < groups_) multiply(group + kAhead * kGroupBytes, g + kAhead);
      gather(group, g, total);
    }
    const __m512 gain = _mm512_set1_ps(weight_.gain);
    for (int r = 0; r < Rows; ++r) total[r] = _mm512_mul_ps(total[r], gain);
  }

 private:
  // The integer sums of a group, for each part of it the high and the low bytes apart.
  void multiply(const uint8_t* group, int64_t g) {
    const uint8_t* codes = group;
    if constexpr (L != Layout::kInt8) {
      each_codes<Avx512, L, 0, 8>(group, [&](__m512i bytes, int v) {
        _mm512_store_si512(codes_[g % kRing] + v * 64, bytes);
      });
      codes = codes_[g % kRing];
    }
    for (int part = 0; part < Scales; ++part) {
      const int64_t column = g * kGroup + part * kPartColumns;
      _tile_loadd(6, codes + part * kPartColumns * 16, 64);
      _tile_loadd(4, high_ + column, columns_);
      _tile_zero(0);
      _tile_dpbsud(0, 4, 6);
      _tile_loadd(5, low_ + column, columns_);
      _tile_zero(1);
      _tile_dpbsud(1, 5, 6);
      _tile_stored(0, whole_[g % kRing][part][0], 64);
      _tile_stored(1, whole_[g % kRing][part][1], 64);
    }
  }

  void gather(const uint8_t* group, int64_t g, __m512* total) const {
    const auto* halves = reinterpret_cast<const uint16_t*>(group + form.code_bytes(16));
    for (int part = 0; part < Scales; ++part) {
      const __m512 scale = Avx512::load_half(halves + part * 16);
      const auto& whole = whole_[g % kRing][part];
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        __m512i sum = _mm512_add_epi32(
            _mm512_slli_epi32(_mm512_load_si512(whole[0] + 16 * r), 8),
            _mm512_load_si512(whole[1] + 16 * r));
        if constexpr (!Minima) {
          const int32_t* x_sums = sums_ + (r * groups_ + g) * 2;
          const int32_t x_sum = Scales == 2 ? x_sums[part] : x_sums[0] + x_sums[1];
          sum = _mm512_sub_epi32(sum, _mm512_slli_epi32(_mm512_set1_epi32(x_sum), Bits - 1));
        }
        const __m512 factor = _mm512_mul_ps(scale, _mm512_set1_ps(scales_[r * groups_ + g]));
        total[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), factor, total[r]);
      }
    }
    if constexpr (Minima) {
      const __m512 minimum = Avx512::load_half(halves + Scales * 16);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r)
        total[r] =
            _mm512_fmadd_ps(minimum, _mm512_set1_ps(weighted_[r * groups_ + g]), total[r]);
    }
  }

  const Packed& weight_;
  const int64_t columns_, groups_;
  const int8_t *high_, *low_;
  const float* scales_;
  const int32_t* sums_;
  const float* weighted_;
  alignas(64) uint8_t codes_[kRing][512];
  alignas(64) int32_t whole_[kRing][Scales][2][Rows * 16];
};

template <Layout L, int Bits, bool Minima, int Scales>
struct TileCodes {
  template <int Rows>
  static void block(const LinearPart& part, int64_t first) {
    TileIntegers<L, Bits, Minima, Scales, Rows> integers(part, first);
    const TileUnit unit(integers.kShape);
    const Linear& linear = part.linear;
    const int64_t count = std::min<int64_t>(Rows, part.last - first);
    for (int64_t tile = part.first_tile; tile < part.last_tile; ++tile) {
      __m512 total[Rows];
      integers.run(tile, total);
      const int64_t row = tile * 16, width = std::min<int64_t>(16, linear.weight.rows - row);
      const __m512 bias =
          linear.bias ? load_at<Avx512>(linear.bias + row, width) : _mm512_setzero_ps();
      for (int64_t r = 0; r < count; ++r)
        store_at<Avx512>(linear.out + (first + r) * linear.weight.rows + row,
                         _mm512_add_ps(total[r], bias), width);
    }
  }

  static void run(const LinearPart& part) {
    for (int64_t first = part.first; first < part.last; first += 16)
      part.last - first <= 8 ? block<8>(part, first) : block<16>(part, first);
  }
};

}  // namespace
}  // namespace vilfredo
