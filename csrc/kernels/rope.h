// Rotary positions, in place.
#pragma once

#include <cstdint>

#include "norm.h"

namespace vilfredo {
namespace {

// Rotates the pairs (i, i + half): vectors of both halves at once.
template <class V>
void rotate_halves(float* x, const float* cos, const float* sin, int64_t half) {
  using F = typename V::F;
  each_vector<V>(half, [&](int64_t i, int64_t count) {
    const F a = load_at<V>(x + i, count), b = load_at<V>(x + half + i, count);
    const F c = load_at<V>(cos + i, count), s = load_at<V>(sin + i, count);
    store_at<V>(x + i, V::sub(V::mul(a, c), V::mul(b, s)), count);
    store_at<V>(x + half + i, V::add(V::mul(b, c), V::mul(a, s)), count);
  });
}

// Rotates the pairs (2i, 2i + 1).
inline void rotate_neighbours(float* x, const float* cos, const float* sin, int64_t half) {
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = a * cos[i] - b * sin[i];
    x[2 * i + 1] = b * cos[i] + a * sin[i];
  }
}

template <class V>
void rope(Pool& pool, float* x, const float* cos, const float* sin, int64_t n, int64_t heads,
          int64_t head_dim, bool interleaved) {
  const int64_t half = head_dim / 2;
  each_row(pool, n, heads * head_dim, [&](int64_t row) {
    for (int64_t head = 0; head < heads; ++head) {
      float* p = x + (row * heads + head) * head_dim;
      if (interleaved)
        rotate_neighbours(p, cos + row * half, sin + row * half, half);
      else
        rotate_halves<V>(p, cos + row * half, sin + row * half, half);
    }
  });
}

}  // namespace
}  // namespace vilfredo
