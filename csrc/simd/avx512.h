// The SIMD vocabulary on AVX-512 (F, BW, DQ, VL) with VNNI: a vector is 16 lanes.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace vilfredo {
namespace {

struct Avx512 {
  static constexpr int kLanes = 16;
  static constexpr int kColumns = 8;  // columns of a product that share one unpacking of weights
  static constexpr int kQueries = 8;  // of attention that share a pass over the keys

  // float32
  using F = __m512;
  static F zero() { return _mm512_setzero_ps(); }
  static F set(float x) { return _mm512_set1_ps(x); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }  // b where either is NaN
  static F min(F a, F b) { return _mm512_min_ps(a, b); }  // b where either is NaN
  static F abs(F a) { return _mm512_abs_ps(a); }
  static F round(F a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static float sum(F a) { return _mm512_reduce_add_ps(a); }
  static float largest(F a) { return _mm512_reduce_max_ps(a); }
  static bool any_greater(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0; }
  // 2^n for a whole n in [-126, 127]
  static F power_of_two(F n) {
    const __m512i biased = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(biased, 23));
  }

  // 16-bit storage
  static F load_half(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void store_half(uint16_t* p, F x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static F load_bfloat(const uint16_t* p) {
    const __m256i raw = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(raw), 16));
  }

  // int32
  using I = __m512i;
  static I zero_int() { return _mm512_setzero_si512(); }
  static I set_int(int32_t x) { return _mm512_set1_epi32(x); }
  static I add(I a, I b) { return _mm512_add_epi32(a, b); }
  static I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
  template <int Bits>
  static I shift_left(I a) { return _mm512_slli_epi32(a, Bits); }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  // Rounds 16 floats in [-128, 127] to bytes.
  static void store_bytes(int8_t* p, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x)));
  }

  // Dot products of unsigned weight codes with signed activations, four bytes a lane, summed in
  // 32 bits by VNNI: no code is too wide and nothing has to be widened.
  using Codes = __m512i;
  using Bytes = __m512i;
  using Dot = __m512i;
  static constexpr int dots_before_widening(int) { return 8; }
  static Codes load_codes(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static Codes low_nibbles(Codes a) { return _mm512_and_si512(a, _mm512_set1_epi8(15)); }
  static Codes high_nibbles(Codes a) { return low_nibbles(_mm512_srli_epi16(a, 4)); }
  // low | (high << Left & Mask) in each byte; a negative Left shifts to the right.
  template <int Left, int Mask>
  static Codes add_bits(Codes low, Codes high) {
    if constexpr (Left > 0) high = _mm512_slli_epi16(high, Left);
    if constexpr (Left < 0) high = _mm512_srli_epi16(high, -Left);
    return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(Mask), 0xf8);
  }
  static Bytes broadcast(const int8_t* p) {
    int32_t four;
    std::memcpy(&four, p, 4);
    return _mm512_set1_epi32(four);
  }
  static Dot zero_dot() { return _mm512_setzero_si512(); }
  static Dot dot(Dot sum, Codes codes, Bytes x) { return _mm512_dpbusd_epi32(sum, codes, x); }
  static I widen(Dot sum) { return sum; }
};

}  // namespace
}  // namespace vilfredo
