// Weights of one tile as bfloat16 pairs of columns, the second operand of the matrix unit.
//
// A vector lane is a row of the weight; for each pair of columns, a lane holds the even column in
// its low half and the odd one in its high half. Sixteen such vectors are a group of 32 columns.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "../packed.h"
#include "../simd/avx512.h"

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

// Turns codes to weights without converting integers: a code of 8 bits, moved to the top of a
// float's mantissa under the exponent of 1, is 1 + code / 256; one multiplication and addition
// bring that to scale * (code - offset) + minimum.
class Scale {
 public:
  Scale(__m512 scale, __m512 minimum, int offset)
      : factor_(_mm512_mul_ps(scale, _mm512_set1_ps(256.0f))),
        added_(_mm512_fmadd_ps(scale, _mm512_set1_ps(-256.0f - static_cast<float>(offset)),
                               minimum)) {}

  // The weights of bytes 0 and 1, and of bytes 2 and 3, of each lane.
  void unpack(__m512i codes, uint8_t* out) const {
    const __m512 first = weights(_mm512_slli_epi32(codes, 15));
    const __m512 second = weights(_mm512_slli_epi32(codes, 7));
    const __m512 third = weights(_mm512_srli_epi32(codes, 1));
    const __m512 fourth = weights(_mm512_srli_epi32(codes, 9));
    _mm512_store_si512(out, pair(first, second));
    _mm512_store_si512(out + 64, pair(third, fourth));
  }

 private:
  __m512 weights(__m512i codes) const {
    // (codes & 0x007f8000) | 0x3f800000
    const __m512i mantissa = _mm512_ternarylogic_epi32(
        codes, _mm512_set1_epi32(0x007f8000), _mm512_set1_epi32(0x3f800000), 0xea);
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
    const __m512 minimum = Minima ? _mm512_mul_ps(gain, Avx512::load_half(halves + Scales * 16))
                                  : _mm512_setzero_ps();
    for (int part = 0; part < Scales; ++part) {
      const __m512 scale = _mm512_mul_ps(gain, Avx512::load_half(halves + part * 16));
      const Scale to_weights(scale, minimum, form.offset());
      constexpr int vectors = 8 / Scales;
      for (int v = part * vectors; v < (part + 1) * vectors; ++v)
        to_weights.unpack(load(codes, v), out + v * 128);
    }
  }

 private:
  // Bytes of columns 4v to 4v + 3.
  static __m512i load(const uint8_t* codes, int v) {
    if constexpr (L == Layout::kInt4) {
      const __m512i both = _mm512_loadu_si512(codes + v % 4 * 64);
      return v < 4 ? Avx512::low_nibbles(both) : Avx512::high_nibbles(both);
    } else {
      return _mm512_loadu_si512(codes + v * 64);
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
