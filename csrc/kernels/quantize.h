// Activations to signed bytes: one scale a group of 32, one sum a half group.
#pragma once

#include <cstdint>

#include "../simd/math.h"
#include "../table.h"

namespace vilfredo {
namespace {

// Groups whose largest magnitude is below this become zero: its reciprocal would overflow.
constexpr float kSmallest = 1e-30f;

template <class V>
void quantize_group(const float* x, int8_t* codes, float* scale, int32_t* sums) {
  using F = typename V::F;
  F largest = V::zero(), check = V::zero();
  for (int i = 0; i < kGroup; i += V::kLanes) {
    const F lanes = V::load(x + i);
    largest = V::max(V::abs(lanes), largest);
    check = V::fma(lanes, V::zero(), check);  // NaN if any lane is not finite
  }
  const float magnitude = V::largest(largest);
  const F inverse = V::set(magnitude < kSmallest ? 0.0f : 127.0f / magnitude);
  for (int i = 0; i < kGroup; i += V::kLanes)
    V::store_bytes(codes + i, V::mul(V::load(x + i), inverse));
  *scale = magnitude / 127.0f + V::sum(check);
  for (int half = 0; half < 2; ++half) {
    int32_t sum = 0;
    for (int i = 0; i < kGroup / 2; ++i) sum += codes[half * (kGroup / 2) + i];
    sums[half] = sum;
  }
}

template <class V>
void quantize(Pool& pool, const float* x, int64_t n, int64_t columns, Activations& out) {
  out.resize(n, columns);
  const int64_t groups = columns / kGroup;
  const auto row = [&](int64_t index) {
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t group = index * groups + g;
      quantize_group<V>(x + group * kGroup, &out.codes[group * kGroup], &out.scales[group],
                        &out.sums[group * 2]);
    }
  };
  if (n == 1)
    row(0);
  else
    pool.each(n, row);
}

}  // namespace
}  // namespace vilfredo
