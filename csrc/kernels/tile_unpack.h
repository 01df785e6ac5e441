// Weights of one tile as bfloat16 pairs of columns, the second operand of the matrix unit.
//
// A vector lane is a row of the weight; for each pair of columns, a lane holds the even column in
// its low half and the odd one in its high half. Sixteen such vectors are a group of 32 columns.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "../packed.h"
#include "../simd/avx512.h"
#include "unpack.h"

namespace vilfredo {
namespace {

constexpr int kPairs = kGroup / 2;  // vectors of a group

// Two columns to one vector, each float32 rounded to the nearest bfloat16, halves upwards.
inline __m512i pair(__m512 even, __m512 odd) {
  const __m512i half = _mm512_set1_epi32(0x8000);
  const __m512i low = _mm512_srli_epi32(_mm512_add_epi32(_mm512_castps_si512(even), half), 16);
  const __m512i high = _mm512_add_epi32(_mm512_castps_si512(odd), half);
  // low | (high & 0xffff0000)
  return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi32(static_cast<int>(0xffff0000)),
                                   0xf8);
}

// Turns codes to weights without converting integers: the code, moved to the top of a float's
// mantissa under the exponent of 1, is 1 + code / 2^Bits; one multiplication and addition bring that
// to scale * (code - offset) + minimum.
template <int Bits>
class Scale {
 public:
  Scale(__m512 scale, __m512 minimum, int offset)
      : factor_(_mm512_mul_ps(scale, _mm512_set1_ps(kSteps))),
        added_(_mm512_fmadd_ps(scale, _mm512_set1_ps(-kSteps - static_cast<float>(offset)),
                               minimum)) {}

  // The weights of two neighbouring columns, whose codes begin at these bits of each lane.
  template <int Even, int Odd>
  void unpack(__m512i codes, uint8_t* out) const {
    _mm512_store_si512(out, pair(weights<Even>(codes), weights<Odd>(codes)));
  }

 private:
  static constexpr float kSteps = 1 << Bits;

  template <int From>
  __m512 weights(__m512i codes) const {
    constexpr int to = 23 - Bits, one = 0x3f800000, mask = ((1 << Bits) - 1) << to;
    if constexpr (From < to) codes = _mm512_slli_epi32(codes, to - From);
    if constexpr (From > to) codes = _mm512_srli_epi32(codes, From - to);
    const __m512i mantissa = _mm512_ternarylogic_epi32(  // (codes & mask) | one
        codes, _mm512_set1_epi32(mask), _mm512_set1_epi32(one), 0xea);
    return _mm512_fmadd_ps(_mm512_castsi512_ps(mantissa), factor_, added_);
  }

  __m512 factor_, added_;
};

// One group of 32 columns of a tile, 1 KiB.
template <Layout L, int Bits, bool Minima, int Scales>
struct UnpackCodes {
  static constexpr Form form{L, Bits, Minima, Scales};

  static void group(const Packed& weight, const uint8_t* tile, int64_t index, uint8_t* out) {
    const uint8_t* codes = tile + index * form.group_bytes(16);
    const auto* halves = reinterpret_cast<const uint16_t*>(codes + form.code_bytes(16));
    const __m512 gain = _mm512_set1_ps(weight.gain);
    const auto half = [&](int i) { return _mm512_mul_ps(gain, Avx512::load_half(halves + 16 * i)); };
    const __m512 minimum = Minima ? half(Scales) : _mm512_setzero_ps();
    if constexpr (L == Layout::kInt4) {
      const Scale<4> scale(half(0), minimum, form.offset());
      for (int v = 0; v < 4; ++v) {  // low nibbles are the first 16 columns
        const __m512i both = _mm512_loadu_si512(codes + v * 64);
        scale.template unpack<0, 8>(both, out + v * 128);
        scale.template unpack<16, 24>(both, out + v * 128 + 64);
        scale.template unpack<4, 12>(both, out + v * 128 + 512);
        scale.template unpack<20, 28>(both, out + v * 128 + 576);
      }
    } else {
      const Scale<8> first(half(0), minimum, form.offset());
      const Scale<8> second(half(Scales - 1), minimum, form.offset());
      const auto unpack = [&](const Scale<8>& scale, __m512i bytes, int v) {
        scale.template unpack<0, 8>(bytes, out + v * 128);
        scale.template unpack<16, 24>(bytes, out + v * 128 + 64);
      };
      each_codes<Avx512, L, 0, 4>(codes, [&](__m512i b, int v) { unpack(first, b, v); });
      each_codes<Avx512, L, 4, 8>(codes, [&](__m512i b, int v) { unpack(second, b, v); });
    }
  }
};

struct UnpackBfloat {
  static void group(const Packed&, const uint8_t* tile, int64_t index, uint8_t* out) {
    const auto* columns = reinterpret_cast<const uint16_t*>(tile) + index * kGroup * 16;
    for (int p = 0; p < kPairs; ++p, columns += 32)
      _mm512_store_si512(out + p * 64,
                         pair(Avx512::load_bfloat(columns), Avx512::load_bfloat(columns + 16)));
  }
};

}  // namespace
}  // namespace vilfredo
