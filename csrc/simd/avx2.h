// The SIMD vocabulary on AVX2 with FMA and F16C: a vector is 8 lanes.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace vilfredo {
namespace {

struct Avx2 {
  static constexpr int kLanes = 8;
  static constexpr int kColumns = 4;  // columns of a product that share one unpacking of weights
  static constexpr int kQueries = 4;  // of attention that share a pass over the keys

  // float32
  using F = __m256;
  static F zero() { return _mm256_setzero_ps(); }
  static F set(float x) { return _mm256_set1_ps(x); }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, F x) { _mm256_storeu_ps(p, x); }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }  // b where either is NaN
  static F min(F a, F b) { return _mm256_min_ps(a, b); }  // b where either is NaN
  static F abs(F a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
  static F round(F a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static float sum(F a) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
  static float largest(F a) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
  }
  static bool any_greater(F a, F b) {
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
  }
  // 2^n for a whole n in [-126, 127]
  static F power_of_two(F n) {
    const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
  }

  // 16-bit storage
  static F load_half(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static void store_half(uint16_t* p, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static F load_bfloat(const uint16_t* p) {
    const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16));
  }

  // int32
  using I = __m256i;
  static I zero_int() { return _mm256_setzero_si256(); }
  static I set_int(int32_t x) { return _mm256_set1_epi32(x); }
  static I add(I a, I b) { return _mm256_add_epi32(a, b); }
  static I sub(I a, I b) { return _mm256_sub_epi32(a, b); }
  template <int Bits>
  static I shift_left(I a) { return _mm256_slli_epi32(a, Bits); }
  static F to_float(I a) { return _mm256_cvtepi32_ps(a); }
  // Rounds 8 floats in [-128, 127] to bytes.
  static void store_bytes(int8_t* p, F x) {
    const __m256i words = _mm256_cvtps_epi32(x);
    const __m128i shorts =
        _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(shorts, shorts));
  }

  // Dot products of unsigned weight codes with signed activations, four bytes a lane. `Dot` holds
  // 16-bit sums: codes of 4, 5, 6 bits allow 8, 4, 2 dots (2 * 128 * 15 * 8 < 2^15) before they
  // must be widened; codes of 8 bits fit only as two nibbles.
  using Codes = __m256i;
  using Bytes = __m256i;
  using Dot = __m256i;
  static constexpr int dots_before_widening(int bits) { return bits > 7 ? 0 : 1 << (7 - bits); }
  static Codes load_codes(const uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Codes low_nibbles(Codes a) { return _mm256_and_si256(a, _mm256_set1_epi8(15)); }
  static Codes high_nibbles(Codes a) { return low_nibbles(_mm256_srli_epi16(a, 4)); }
  // low | (high << Left & Mask) in each byte; a negative Left shifts to the right.
  template <int Left, int Mask>
  static Codes add_bits(Codes low, Codes high) {
    if constexpr (Left > 0) high = _mm256_slli_epi16(high, Left);
    if constexpr (Left < 0) high = _mm256_srli_epi16(high, -Left);
    return _mm256_or_si256(low, _mm256_and_si256(high, _mm256_set1_epi8(Mask)));
  }
  static Bytes broadcast(const int8_t* p) {
    int32_t four;
    std::memcpy(&four, p, 4);
    return _mm256_set1_epi32(four);
  }
  static Dot zero_dot() { return _mm256_setzero_si256(); }
  static Dot dot(Dot sum, Codes codes, Bytes x) {
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(codes, x));
  }
  static I widen(Dot sum) { return _mm256_madd_epi16(sum, _mm256_set1_epi16(1)); }
};

}  // namespace
}  // namespace vilfredo
