// Root mean square norm of rows.
#pragma once

#include <cmath>
#include <cstdint>

#include "../simd/math.h"
#include "../table.h"

namespace vilfredo {
namespace {

// Elements below which one thread is faster than waking the others.
constexpr int64_t kSerial = 16 * 1024;

// Calls work(row) for every row, on all threads only where there is enough to share.
template <class Work>
void each_row(Pool& pool, int64_t rows, int64_t width, Work&& work) {
  if (rows * width <= kSerial) {
    for (int64_t row = 0; row < rows; ++row) work(row);
  } else {
    pool.each(rows, work);
  }
}

template <class V>
void rms_norm(Pool& pool, const float* x, const float* weight, float eps, int64_t n, int64_t width,
              float* out) {
  using F = typename V::F;
  each_row(pool, n, width, [&](int64_t index) {
    const float* row = x + index * width;
    float* result = out + index * width;
    F squares = V::zero();
    each_vector<V>(width, [&](int64_t i, int64_t count) {
      const F lanes = load_at<V>(row + i, count);
      squares = V::fma(lanes, lanes, squares);
    });
    const float mean = V::sum(squares) / static_cast<float>(width);
    const F factor = V::set(1.0f / std::sqrt(mean + eps));
    each_vector<V>(width, [&](int64_t i, int64_t count) {
      const F lanes = V::mul(load_at<V>(row + i, count), factor);
      store_at<V>(result + i, V::mul(lanes, load_at<V>(weight + i, count)), count);
    });
  });
}

}  // namespace
}  // namespace vilfredo
