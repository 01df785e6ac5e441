// Keys and values of new tokens into the paged cache.
#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace
}  // namespace vilfredo
