// Keys and values into the paged cache, and causal attention over it in place.
//
// Each query walks the blocks of its sequence in order with an online softmax (Milakov &
// Gimelshein 2018), so its result does not depend on which other queries are computed beside it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "../half.h"
#include "norm.h"

namespace vilfredo {
namespace {

constexpr int64_t kMostHeadDim = 512;
constexpr int64_t kMostBlockTokens = 128;

template <class V>
void store(Pool& pool, const float* keys, const float* values, const int32_t* slots, int64_t n,
           CacheShape shape, uint16_t* key_cache, uint16_t* value_cache) {
  const int64_t heads = shape.kv_heads, dim = shape.head_dim, tokens = shape.block_tokens;
  each_row(pool, n, heads * dim, [&](int64_t row) {
    const int64_t block = slots[row] / tokens, offset = slots[row] % tokens;
    uint16_t half[kMostHeadDim + V::kLanes];
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t page = (block * heads + head) * dim * tokens;
      const float* key = keys + (row * heads + head) * dim;
      const float* value = values + (row * heads + head) * dim;
      each_vector<V>(dim, [&](int64_t i, int64_t count) {
        V::store_half(half + i, load_at<V>(key + i, count));
      });
      for (int64_t i = 0; i < dim; ++i) key_cache[page + i * tokens + offset] = half[i];
      each_vector<V>(dim, [&](int64_t i, int64_t count) {
        V::store_half(half + i, load_at<V>(value + i, count));
      });
      std::copy_n(half, dim, value_cache + page + offset * dim);
    }
  });
}

// The queries that one item computes: neighbouring rows and heads that read the same kv head.
template <class V>
class AttentionItem {
  using F = typename V::F;
  static constexpr int kMost = 4;  // queries at once: their scores stay in registers

 public:
  AttentionItem(const AttentionCall& call, int64_t span, int64_t kv_head)
      : call_(call), span_(span), kv_head_(kv_head), dim_(call.cache.head_dim),
        tokens_(call.cache.block_tokens), group_(call.heads / call.cache.kv_heads) {}

  // Queries [first, last) of the list (row 0, group head 0), (row 0, group head 1), …
  void compute(int64_t first, int64_t last) {
    for (; first + kMost <= last; first += kMost) compute_some<kMost>(first);
    for (; first < last; ++first) compute_some<1>(first);
  }

 private:
  template <int N>
  void compute_some(int64_t first) {
    alignas(64) float weights[N][kMostBlockTokens];
    alignas(64) float sums[N][kMostHeadDim];
    const float* query[N];
    float* out[N];
    int64_t position[N];
    float largest[N], total[N];
    int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
    for (int q = 0; q < N; ++q) {
      const int64_t row = (first + q) / group_;
      const int64_t head = kv_head_ * group_ + (first + q) % group_;
      const int64_t place = ((call_.borders[span_] + row) * call_.heads + head) * dim_;
      query[q] = call_.queries + place;
      out[q] = call_.out + place;
      position[q] = call_.starts[span_] + row;
      largest[q] = -std::numeric_limits<float>::infinity();
      total[q] = 0.0f;
      std::fill_n(sums[q], dim_, 0.0f);
      begin = std::min(begin, oldest(position[q]));
      end = std::max(end, position[q] + 1);
    }
    for (int64_t block = begin / tokens_; block * tokens_ < end; ++block) {
      const int64_t page = (static_cast<int64_t>(call_.blocks[span_ * call_.table_width + block]) *
                                call_.cache.kv_heads + kv_head_) * dim_ * tokens_;
      score<N>(query, call_.keys + page, weights);
      float rescale[N];
      for (int q = 0; q < N; ++q)
        rescale[q] = soften(weights[q], block * tokens_, position[q], largest[q], total[q]);
      accumulate<N>(weights, rescale, call_.values + page,
                    std::min(tokens_, end - block * tokens_), sums);
    }
    for (int q = 0; q < N; ++q) {
      const F inverse = V::set(1.0f / total[q]);
      each_vector<V>(dim_, [&](int64_t i, int64_t count) {
        store_at<V>(out[q] + i, V::mul(load_at<V>(sums[q] + i, count), inverse), count);
      });
    }
  }

  // The first position that a query at `position` sees.
  int64_t oldest(int64_t position) const {
    return call_.window ? std::max<int64_t>(0, position - call_.window + 1) : 0;
  }

  // weights[q][j] = query[q] · key of token j, for the whole block; a lane is a token.
  template <int N>
  void score(const float* const* query, const uint16_t* keys, float (*weights)[kMostBlockTokens]) {
    for (int64_t j = 0; j < tokens_; j += V::kLanes) {
      F sum[N];
      for (F& s : sum) s = V::zero();
      for (int64_t i = 0; i < dim_; ++i) {
        const F key = V::load_half(keys + i * tokens_ + j);
        for (int q = 0; q < N; ++q) sum[q] = V::fma(V::set(query[q][i]), key, sum[q]);
      }
      for (int q = 0; q < N; ++q) V::store(weights[q] + j, sum[q]);
    }
  }

  // Scores to weights exp(score - largest so far), zero outside what the query sees; returns the
  // factor by which everything summed before must shrink.
  float soften(float* weights, int64_t start, int64_t position, float& largest, float& total) {
    const int64_t begin = std::clamp<int64_t>(oldest(position) - start, 0, tokens_);
    const int64_t end = std::clamp<int64_t>(position + 1 - start, 0, tokens_);
    if (begin >= end) {
      std::fill_n(weights, tokens_, 0.0f);
      return 1.0f;
    }
    const float before = largest;
    for (int64_t j = 0; j < tokens_; j += V::kLanes) {
      F lanes = V::mul(V::load(weights + j), V::set(call_.scale));
      if (call_.softcap > 0.0f)
        lanes = V::mul(V::set(call_.softcap),
                       tanh<V>(V::div(lanes, V::set(call_.softcap))));
      V::store(weights + j, lanes);
    }
    for (int64_t j = begin; j < end; ++j) largest = std::max(largest, weights[j]);
    F sum = V::zero();
    for (int64_t j = 0; j < tokens_; j += V::kLanes)
      V::store(weights + j, exp<V>(V::sub(V::load(weights + j), V::set(largest))));
    std::fill_n(weights, begin, 0.0f);
    std::fill(weights + end, weights + tokens_, 0.0f);
    for (int64_t j = 0; j < tokens_; j += V::kLanes) sum = V::add(sum, V::load(weights + j));
    const float rescale = std::exp(before - largest);  // 0 for the first block
    total = total * rescale + V::sum(sum);
    return rescale;
  }

  // sums[q] = sums[q] * rescale[q] + weights[q] · values; a lane is a dimension.
  template <int N>
  void accumulate(const float (*weights)[kMostBlockTokens], const float* rescale,
                  const uint16_t* values, int64_t count, float (*sums)[kMostHeadDim]) {
    for (int64_t i = 0; i < dim_; i += V::kLanes) {
      F sum[N];
      for (int q = 0; q < N; ++q) sum[q] = V::mul(V::load(sums[q] + i), V::set(rescale[q]));
      for (int64_t j = 0; j < count; ++j) {
        const F value = V::load_half(values + j * dim_ + i);
        for (int q = 0; q < N; ++q) sum[q] = V::fma(V::set(weights[q][j]), value, sum[q]);
      }
      for (int q = 0; q < N; ++q) V::store(sums[q] + i, sum[q]);
    }
  }

  const AttentionCall& call_;
  const int64_t span_, kv_head_, dim_, tokens_, group_;
};

// Queries of an item: enough to share each key among several, few enough to balance the threads.
constexpr int64_t kQueriesAnItem = 64;

template <class V>
void attention(Pool& pool, const AttentionCall& call) {
  const int64_t kv_heads = call.cache.kv_heads, group = call.heads / kv_heads;
  int64_t longest = 0;
  for (int64_t span = 0; span < call.spans; ++span)
    longest = std::max<int64_t>(longest, call.borders[span + 1] - call.borders[span]);
  const int64_t pieces = (longest * group + kQueriesAnItem - 1) / kQueriesAnItem;
  pool.each(call.spans * kv_heads * pieces, [&](int64_t item) {
    const int64_t span = item / (kv_heads * pieces), kv_head = item / pieces % kv_heads;
    const int64_t queries = (call.borders[span + 1] - call.borders[span]) * group;
    const int64_t first = item % pieces * kQueriesAnItem;
    AttentionItem<V>(call, span, kv_head)
        .compute(first, std::min(first + kQueriesAnItem, queries));
  });
}

}  // namespace
}  // namespace vilfredo
