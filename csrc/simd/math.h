// Functions built from the vocabulary, the same on every instruction set.
#pragma once

#include <cstdint>

namespace vilfredo {
namespace {

// exp to about 2 units in the last place: x = n ln 2 + r with |r| <= ln 2 / 2, and e^r by its
// Taylor polynomial of degree 7. Below -87.3 it gives 2^-126 rather than a subnormal; a NaN stays.
template <class V>
inline typename V::F exp(typename V::F x) {
  using F = typename V::F;
  const F bounded = V::max(V::set(-87.3f), V::min(V::set(88.3f), x));
  const F n = V::round(V::mul(bounded, V::set(1.44269504f)));
  F r = V::fma(n, V::set(-0.693359375f), bounded);  // ln 2 in two parts, for exact products
  r = V::fma(n, V::set(2.12194440e-4f), r);
  F p = V::set(1.0f / 5040);
  p = V::fma(p, r, V::set(1.0f / 720));
  p = V::fma(p, r, V::set(1.0f / 120));
  p = V::fma(p, r, V::set(1.0f / 24));
  p = V::fma(p, r, V::set(1.0f / 6));
  p = V::fma(p, r, V::set(0.5f));
  p = V::fma(p, r, V::set(1.0f));
  p = V::fma(p, r, V::set(1.0f));
  // n may be 128 only for x > 88.3 - ln 2 / 2, which the bound keeps at 127.
  return V::mul(p, V::power_of_two(n));
}

template <class V>
inline typename V::F sigmoid(typename V::F x) {
  const typename V::F one = V::set(1.0f);
  return V::div(one, V::add(one, exp<V>(V::sub(V::zero(), x))));
}

template <class V>
inline typename V::F tanh(typename V::F x) {
  return V::sub(V::mul(V::set(2.0f), sigmoid<V>(V::add(x, x))), V::set(1.0f));
}

// The first `count` of a vector's lanes; the others are `fill`.
template <class V>
inline typename V::F load_part(const float* p, int64_t count, float fill = 0.0f) {
  float lanes[V::kLanes];
  for (int64_t i = 0; i < V::kLanes; ++i) lanes[i] = i < count ? p[i] : fill;
  return V::load(lanes);
}

template <class V>
inline void store_part(float* p, typename V::F x, int64_t count) {
  float lanes[V::kLanes];
  V::store(lanes, x);
  for (int64_t i = 0; i < count; ++i) p[i] = lanes[i];
}

// Calls body(first, count) for each vector of [0, size); count < lanes only for a tail.
template <class V, class Body>
inline void each_vector(int64_t size, Body&& body) {
  for (int64_t first = 0; first < size; first += V::kLanes)
    body(first, size - first < V::kLanes ? size - first : V::kLanes);
}

template <class V>
inline typename V::F load_at(const float* p, int64_t count) {
  return count == V::kLanes ? V::load(p) : load_part<V>(p, count);
}

template <class V>
inline void store_at(float* p, typename V::F x, int64_t count) {
  if (count == V::kLanes)
    V::store(p, x);
  else
    store_part<V>(p, x, count);
}

}  // namespace
}  // namespace vilfredo
