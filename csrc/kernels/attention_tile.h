// A few queries over a tile of the cache: scores, softmax weights, weighted values.
//
// Every score and every sum is one chain in a fixed order, whatever N: a query's result does not
// depend on which others share the pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "../simd/math.h"
#include "../table.h"
#include "kv_store.h"

namespace vilfredo {
namespace {

constexpr int64_t kTileTokens = 64;  // of a tile, or one block where blocks are longer
constexpr float kNothing = -std::numeric_limits<float>::infinity();

// What a query has gathered: exp(score - largest) summed, and the values weighted by it.
struct Gathered {
  float largest, total;
  float* values;  // [head_dim]

  void clear(int64_t dim) {
    largest = kNothing;
    total = 0.0f;
    std::fill_n(values, dim, 0.0f);
  }
};

// a + b, both relative to the larger of their largest scores (Milakov & Gimelshein 2018).
template <class V>
void merge(Gathered& a, const Gathered& b, int64_t dim) {
  if (b.largest == kNothing) return;  // b saw nothing
  const float largest = std::max(a.largest, b.largest);
  const float keep = std::exp(a.largest - largest), take = std::exp(b.largest - largest);
  a.largest = largest;
  a.total = a.total * keep + b.total * take;
  for (int64_t i = 0; i < dim; i += V::kLanes)
    V::store(a.values + i, V::fma(V::load(b.values + i), V::set(take),
                                  V::mul(V::load(a.values + i), V::set(keep))));
}

// The blocks of a tile as a kv head sees them.
struct Tile {
  const uint16_t* keys[kMostBlockTokens];    // of each block: [head_dim][block_tokens]
  const uint16_t* values[kMostBlockTokens];  // of each block: [block_tokens][head_dim]
  int64_t blocks, block_tokens, dim;
  int64_t start, end;  // positions of its first token and after its last one

  int64_t tokens() const { return blocks * block_tokens; }
};

template <class V, int N>
class TileQueries {
  using F = typename V::F;

 public:
  const float* query[N];   // [head_dim]
  int64_t position[N];
  Gathered gathered[N];

  void see(const AttentionCall& call, const Tile& tile) {
    const int64_t vectors = tile.tokens() / V::kLanes;
    int64_t v = 0;
    for (; v + 2 <= vectors; v += 2) score<2>(tile, v);
    if (v < vectors) score<1>(tile, v);
    float rescale[N];
    for (int q = 0; q < N; ++q) rescale[q] = soften(call, tile, q);
    int64_t i = 0;
    for (; i + 2 * V::kLanes <= tile.dim; i += 2 * V::kLanes) accumulate<2>(tile, rescale, i);
    if (i < tile.dim) accumulate<1>(tile, rescale, i);
  }

 private:
  // weights_[q][j] = query[q] · key of token j for W vectors of tokens, from vector `first`.
  template <int W>
  void score(const Tile& tile, int64_t first) {
    const uint16_t* keys[W];
    for (int w = 0; w < W; ++w) {
      const int64_t token = (first + w) * V::kLanes;
      keys[w] = tile.keys[token / tile.block_tokens] + token % tile.block_tokens;
    }
    F sum[N][W];
    for (int q = 0; q < N; ++q)
      for (int w = 0; w < W; ++w) sum[q][w] = V::zero();
    for (int64_t i = 0; i < tile.dim; ++i) {
      F key[W];
      for (int w = 0; w < W; ++w) key[w] = V::load_half(keys[w] + i * tile.block_tokens);
#pragma GCC unroll 8
      for (int q = 0; q < N; ++q) {
        const F x = V::set(query[q][i]);
        for (int w = 0; w < W; ++w) sum[q][w] = V::fma(x, key[w], sum[q][w]);
      }
    }
    for (int q = 0; q < N; ++q)
      for (int w = 0; w < W; ++w) V::store(weights_[q] + (first + w) * V::kLanes, sum[q][w]);
  }

  // Scores to weights exp(score - largest so far), zero outside what the query sees; returns the
  // factor by which everything gathered before must shrink.
  float soften(const AttentionCall& call, const Tile& tile, int q) {
    const int64_t tokens = tile.tokens();
    const int64_t oldest = call.window ? position[q] - call.window + 1 : 0;
    const int64_t begin = std::clamp<int64_t>(oldest - tile.start, 0, tokens);
    const int64_t end = std::clamp<int64_t>(position[q] + 1 - tile.start, 0, tokens);
    float* weights = weights_[q];
    if (begin >= end) {
      std::fill_n(weights, tokens, 0.0f);
      return 1.0f;
    }
    if (call.softcap > 0.0f) {
      const F cap = V::set(call.softcap), scale = V::set(call.scale);
      for (int64_t j = 0; j < tokens; j += V::kLanes) {
        const F score = V::mul(V::load(weights + j), scale);
        V::store(weights + j, V::mul(cap, tanh<V>(V::div(score, cap))));
      }
    } else {
      for (int64_t j = 0; j < tokens; j += V::kLanes)
        V::store(weights + j, V::mul(V::load(weights + j), V::set(call.scale)));
    }
    std::fill_n(weights, begin, kNothing);
    std::fill(weights + end, weights + tokens, kNothing);
    F most = V::set(kNothing);
    for (int64_t j = 0; j < tokens; j += V::kLanes) most = V::max(V::load(weights + j), most);
    const float before = gathered[q].largest, largest = std::max(before, V::largest(most));
    for (int64_t j = 0; j < tokens; j += V::kLanes)
      V::store(weights + j, exp<V>(V::sub(V::load(weights + j), V::set(largest))));
    std::fill_n(weights, begin, 0.0f);
    std::fill(weights + end, weights + tokens, 0.0f);
    F sum = V::zero();
    for (int64_t j = 0; j < tokens; j += V::kLanes) sum = V::add(sum, V::load(weights + j));
    const float rescale = std::exp(before - largest);  // 0 for the first tile
    gathered[q].largest = largest;
    gathered[q].total = gathered[q].total * rescale + V::sum(sum);
    return rescale;
  }

  // values[q] = values[q] * rescale[q] + weights[q] · values of the tile, for W vectors of
  // dimensions from the i-th. What lies behind the last token is never read: it may be anything.
  template <int W>
  void accumulate(const Tile& tile, const float* rescale, int64_t i) {
    F sum[N][W];
    for (int q = 0; q < N; ++q)
      for (int w = 0; w < W; ++w)
        sum[q][w] =
            V::mul(V::load(gathered[q].values + i + w * V::kLanes), V::set(rescale[q]));
    for (int64_t block = 0; block < tile.blocks; ++block) {
      const int64_t first = block * tile.block_tokens;
      const int64_t count = std::min(tile.block_tokens, tile.end - tile.start - first);
      const uint16_t* values = tile.values[block] + i;
      for (int64_t j = 0; j < count; ++j, values += tile.dim) {
        F value[W];
        for (int w = 0; w < W; ++w) value[w] = V::load_half(values + w * V::kLanes);
#pragma GCC unroll 8
        for (int q = 0; q < N; ++q) {
          const F weight = V::set(weights_[q][first + j]);
          for (int w = 0; w < W; ++w) sum[q][w] = V::fma(weight, value[w], sum[q][w]);
        }
      }
    }
    for (int q = 0; q < N; ++q)
      for (int w = 0; w < W; ++w)
        V::store(gathered[q].values + i + w * V::kLanes, sum[q][w]);
  }

  alignas(64) float weights_[N][kMostBlockTokens];
};

}  // namespace
}  // namespace vilfredo
