// Which products the matrix unit computes, and what it reads.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "linear.h"
#include "tile_integers.h"
#include "tile_product.h"

namespace vilfredo {
namespace {

// Rows of x from which the unit is faster than byte dot products, and from which weights are worth
// unpacking to bfloat16.
constexpr int64_t kFewRows = 9;
constexpr int64_t kManyRows = 17;

// Whoever keeps weights in float16 or float32 wants no less of their products.
inline Reading tile_reading(const Packed& weight, int64_t n) {
  const Layout layout = weight.form.layout;
  const bool finer = layout == Layout::kHalf || layout == Layout::kFloat;
  if (n < kManyRows || weight.columns % kGroup || finer) return reading(weight, n);
  return Reading::kTiles;
}

inline void tile_prepare(Pool& pool, Reading reading, const float* x, int64_t first, int64_t n,
                         int64_t columns, Activations& out) {
  if (reading != Reading::kTiles)
    return prepare<Avx512>(pool, reading, x, first, n, columns, out);
  const int64_t groups = columns / kGroup;
  each_row(pool, n, columns, [&](int64_t index) {
    const int64_t row = first + index;
    const float* from = x + row * columns;
    uint16_t* to = out.tiles.data() + (row / kTileRows * groups * kTileRows + row % kTileRows) * 32;
    for (int64_t g = 0; g < groups; ++g, from += 32, to += 32 * kTileRows) {
      const __m512bh pairs = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from));
      _mm512_store_si512(to, reinterpret_cast<const __m512i&>(pairs));
    }
  });
}

template <Layout L, int Bits, bool Minima, int Scales>
void tile_codes(const LinearPart& part) {
  if (part.reading == Reading::kIntegers)
    return TileCodes<L, Bits, Minima, Scales>::run(part);
  static thread_local Buffer<float> sums;  // grows once, to the largest part of this thread
  TileProduct<UnpackCodes<L, Bits, Minima, Scales>>(part, sums).run();
}

inline void tile_bfloat(const LinearPart& part) {
  static thread_local Buffer<float> sums;
  TileProduct<UnpackBfloat>(part, sums).run();
}

inline void tile_linear(const LinearPart& part) {
  const bool few = part.last - part.first < kFewRows;
  if (part.reading == Reading::kFloats || (part.reading == Reading::kIntegers && few))
    return linear<Avx512>(part);
  const Form form = part.linear.weight.form;
  switch (form.layout) {
    case Layout::kHalf:
    case Layout::kFloat:
      return;  // read as floats
    case Layout::kBfloat:
      return tile_bfloat(part);
    case Layout::kInt4:
      return form.minima ? tile_codes<Layout::kInt4, 4, true, 1>(part)
                         : tile_codes<Layout::kInt4, 4, false, 1>(part);
    case Layout::kInt5:
      return form.minima ? tile_codes<Layout::kInt5, 5, true, 1>(part)
                         : tile_codes<Layout::kInt5, 5, false, 1>(part);
    case Layout::kInt6:
      return tile_codes<Layout::kInt6, 6, false, 2>(part);
    case Layout::kInt8:
      return tile_codes<Layout::kInt8, 8, false, 1>(part);
  }
}

}  // namespace
}  // namespace vilfredo
