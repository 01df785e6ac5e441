// Activations to 16-bit integers in two bytes: one scale a group of 32, one sum a half group.
#pragma once

#include <cstdint>

#include "norm.h"

namespace vilfredo {
namespace {

// Groups whose largest magnitude is below this become zero: its reciprocal would overflow.
constexpr float kSmallest = 1e-30f;
constexpr float kLargestInteger = 127 * 256;  // the high byte of its neighbour would overflow

template <class V>
void quantize_group(const float* x, int8_t* high, int8_t* low, float* scale, int32_t* sums) {
  using F = typename V::F;
  F largest = V::zero(), check = V::zero();
  for (int i = 0; i < kGroup; i += V::kLanes) {
    const F lanes = V::load(x + i);
    largest = V::max(V::abs(lanes), largest);
    check = V::fma(lanes, V::zero(), check);  // NaN if any lane is not finite
  }
  const float magnitude = V::largest(largest);
  const F inverse = V::set(magnitude < kSmallest ? 0.0f : kLargestInteger / magnitude);
  for (int i = 0; i < kGroup; i += V::kLanes) {
    const F integer = V::round(V::mul(V::load(x + i), inverse));
    // The quarter rounds halves up, so that the low byte lies in [-128, 127].
    const F upper = V::round(V::mul(V::add(integer, V::set(0.25f)), V::set(1.0f / 256)));
    V::store_bytes(high + i, upper);
    V::store_bytes(low + i, V::fma(upper, V::set(-256.0f), integer));
  }
  *scale = magnitude / kLargestInteger + V::sum(check);
  for (int half = 0; half < 2; ++half) {
    int32_t sum = 0;
    for (int i = half * (kGroup / 2); i < (half + 1) * (kGroup / 2); ++i)
      sum += 256 * high[i] + low[i];
    sums[half] = sum;
  }
}

template <class V>
void prepare(Pool& pool, Reading, const float* x, int64_t first, int64_t n, int64_t columns,
             Activations& out) {
  const int64_t groups = columns / kGroup;
  each_row(pool, n, columns, [&](int64_t row) {
    for (int64_t group = (first + row) * groups; group < (first + row + 1) * groups; ++group) {
      int32_t* sums = &out.sums[group * 2];
      quantize_group<V>(x + group * kGroup, &out.high[group * kGroup], &out.low[group * kGroup],
                        &out.scales[group], sums);
      out.weighted[group] = out.scales[group] * static_cast<float>(sums[0] + sums[1]);
    }
  });
}

}  // namespace
}  // namespace vilfredo
