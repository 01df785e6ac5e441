// Elementwise operations: the gated activation and the residual sum.
#pragma once

#include <algorithm>
#include <cstdint>

#include "norm.h"

namespace vilfredo {
namespace {

constexpr int64_t kPiece = 4096;  // elements handed to a thread at once

// Calls work(first, count) for every vector of [0, size).
template <class V, class Work>
void each_piece(Pool& pool, int64_t size, Work&& work) {
  each_row(pool, (size + kPiece - 1) / kPiece, kPiece, [&](int64_t piece) {
    const int64_t begin = piece * kPiece;
    each_vector<V>(std::min(kPiece, size - begin),
                   [&](int64_t i, int64_t count) { work(begin + i, count); });
  });
}

template <class V>
void add(Pool& pool, float* x, const float* y, int64_t size) {
  each_piece<V>(pool, size, [&](int64_t i, int64_t count) {
    store_at<V>(x + i, V::add(load_at<V>(x + i, count), load_at<V>(y + i, count)), count);
  });
}

// x = cap * tanh(x / cap)
template <class V>
void softcap(Pool& pool, float* x, float cap, int64_t size) {
  each_piece<V>(pool, size, [&](int64_t i, int64_t count) {
    const auto lanes = V::div(load_at<V>(x + i, count), V::set(cap));
    store_at<V>(x + i, V::mul(V::set(cap), tanh<V>(lanes)), count);
  });
}

template <class V>
typename V::F silu(typename V::F x) {
  return V::mul(x, sigmoid<V>(x));
}

// GELU by its tanh approximation (Hendrycks & Gimpel 2016):
// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), which is x * sigmoid(2 * …).
template <class V>
typename V::F gelu_tanh(typename V::F x) {
  const typename V::F cubic =
      V::fma(V::mul(V::mul(x, x), x), V::set(0.044715f), x);
  return V::mul(x, sigmoid<V>(V::mul(cubic, V::set(1.5957691216f))));
}

template <class V>
void gate(Pool& pool, Gate activation, const float* gate, const float* up, int64_t size,
          float* out) {
  const auto apply = [&](auto function) {
    each_piece<V>(pool, size, [&](int64_t i, int64_t count) {
      const auto lanes = function(load_at<V>(gate + i, count));
      store_at<V>(out + i, V::mul(lanes, load_at<V>(up + i, count)), count);
    });
  };
  if (activation == Gate::kSilu)
    apply([](typename V::F x) { return silu<V>(x); });
  else
    apply([](typename V::F x) { return gelu_tanh<V>(x); });
}

}  // namespace
}  // namespace vilfredo
