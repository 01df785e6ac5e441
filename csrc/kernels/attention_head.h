// The queries of one kv head over all that they see.
//
// What a query sees is cut into pieces of a fixed length. Each is gathered by itself, tile after tile
// with an online softmax, and the pieces are merged in order. So a result depends on nothing but the
// query and its past, whoever computes the pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "attention_tile.h"

namespace vilfredo {
namespace {

constexpr int64_t kPieceTokens = 128;

// The queries of a span that read one kv head: (row 0, head 0 of its group), (row 0, head 1), …
template <class V>
class HeadQueries {
 public:
  HeadQueries(const AttentionCall& call, int64_t span, int64_t kv_head)
      : call_(call), span_(span), kv_head_(kv_head), dim_(call.cache.head_dim),
        group_(call.heads / call.cache.kv_heads) {}

  int64_t count() const {
    return (call_.borders[span_ + 1] - call_.borders[span_]) * group_;
  }
  // Where pieces begin that some query sees: pieces [first, last).
  std::pair<int64_t, int64_t> pieces(int64_t query, int64_t end) const {
    const int64_t piece = piece_blocks() * call_.cache.block_tokens;
    return {oldest(position(query)) / piece, position(end - 1) / piece + 1};
  }

  // All pieces of queries [query, end), to their places in out.
  void compute(int64_t query, int64_t end) const {
    each_few(query, end, [&](auto queries, int64_t first) { whole(queries, first); });
  }
  // One piece; [end - query][2 + head_dim]: largest, total and values of each query.
  void compute_piece(int64_t query, int64_t end, int64_t piece, float* partial) const {
    each_few(query, end, [&](auto queries, int64_t first) {
      set_up(queries, first, partial + (first - query) * (2 + dim_) + 2, 2 + dim_);
      see_piece(queries, first, piece);
      for (int q = 0; q < queries.kCount; ++q) {
        float* row = partial + (first - query + q) * (2 + dim_);
        row[0] = queries.gathered[q].largest;
        row[1] = queries.gathered[q].total;
      }
    });
  }
  // The pieces of one query, `stride` floats apart.
  void merge_pieces(int64_t query, float* partial, int64_t count, int64_t stride) const {
    alignas(64) float values[kMostHeadDim];
    Gathered all{kNothing, 0.0f, values};
    all.clear(dim_);
    for (int64_t piece = 0; piece < count; ++piece, partial += stride)
      merge<V>(all, Gathered{partial[0], partial[1], partial + 2}, dim_);
    finish(query, all);
  }

 private:
  template <int N>
  struct Queries : TileQueries<V, N> {
    static constexpr int kCount = N;
  };

  // Calls work(Queries<N>, first) for runs of N of the queries.
  template <class Work>
  void each_few(int64_t query, int64_t end, const Work& work) const {
    for (; query < end; query += V::kQueries)
      with_count<V::kQueries>(std::min<int64_t>(V::kQueries, end - query),
                              [&](auto queries) { work(queries, query); });
  }
  template <int N, class Work>
  static void with_count(int64_t count, const Work& work) {
    if (count == N) return work(Queries<N>());
    if constexpr (N > 1) with_count<N - 1>(count, work);
  }

  template <int N>
  void set_up(Queries<N>& queries, int64_t first, float* values, int64_t stride) const {
    for (int q = 0; q < N; ++q) {
      queries.query[q] = call_.queries + place(first + q);
      queries.position[q] = position(first + q);
      queries.gathered[q].values = values + q * stride;
      queries.gathered[q].clear(dim_);
    }
  }

  template <int N>
  void whole(Queries<N>& queries, int64_t first) const {
    alignas(64) float values[N][kMostHeadDim];
    alignas(64) float sums[N][kMostHeadDim];
    Gathered all[N];
    for (int q = 0; q < N; ++q) {
      all[q].values = sums[q];
      all[q].clear(dim_);
    }
    const auto [begin, end] = pieces(first, first + N);
    for (int64_t piece = begin; piece < end; ++piece) {
      set_up(queries, first, values[0], kMostHeadDim);
      see_piece(queries, first, piece);
      for (int q = 0; q < N; ++q) merge<V>(all[q], queries.gathered[q], dim_);
    }
    for (int q = 0; q < N; ++q) finish(first + q, all[q]);
  }

  template <int N>
  void see_piece(Queries<N>& queries, int64_t first, int64_t piece) const {
    const int64_t tokens = call_.cache.block_tokens, step = tile_blocks();
    const int64_t end = position(first + N - 1) + 1;
    const int64_t last = std::min((piece + 1) * piece_blocks(), (end + tokens - 1) / tokens);
    const int64_t oldest_block = oldest(position(first)) / tokens;
    int64_t block = piece * piece_blocks();
    if (oldest_block > block) block += (oldest_block - block) / step * step;
    for (; block < last; block += step) {
      const Tile tile = tile_of(block, std::min(block + step, last), end);
      prefetch(block + step, std::min(block + 2 * step, last));
      queries.see(call_, tile);
    }
  }

  Tile tile_of(int64_t block, int64_t last, int64_t end) const {
    const int64_t tokens = call_.cache.block_tokens;
    Tile tile;
    tile.blocks = last - block;
    tile.block_tokens = tokens;
    tile.dim = dim_;
    tile.start = block * tokens;
    tile.end = std::min(last * tokens, end);
    for (int64_t i = 0; i < tile.blocks; ++i) {
      tile.keys[i] = call_.keys + page(block + i);
      tile.values[i] = call_.values + page(block + i);
    }
    return tile;
  }

  // A page is short and the next one lies elsewhere, so nobody else sees this coming.
  void prefetch(int64_t block, int64_t last) const {
    const int64_t halves = dim_ * call_.cache.block_tokens;
    for (; block < last; ++block) {
      const uint16_t *keys = call_.keys + page(block), *values = call_.values + page(block);
      for (int64_t i = 0; i < halves; i += 32) {
        __builtin_prefetch(keys + i);
        __builtin_prefetch(values + i);
      }
    }
  }

  void finish(int64_t query, const Gathered& all) const {
    const typename V::F inverse = V::set(1.0f / all.total);
    float* out = call_.out + place(query);
    for (int64_t i = 0; i < dim_; i += V::kLanes)
      V::store(out + i, V::mul(V::load(all.values + i), inverse));
  }

  int64_t page(int64_t block) const {
    const int32_t number = call_.blocks[span_ * call_.table_width + block];
    return (number * call_.cache.kv_heads + kv_head_) * dim_ * call_.cache.block_tokens;
  }
  int64_t place(int64_t query) const {
    const int64_t row = call_.borders[span_] + query / group_;
    return (row * call_.heads + kv_head_ * group_ + query % group_) * dim_;
  }
  int64_t position(int64_t query) const { return call_.starts[span_] + query / group_; }
  int64_t oldest(int64_t position) const {  // the first one that a query there sees
    return call_.window ? std::max<int64_t>(0, position - call_.window + 1) : 0;
  }
  int64_t tile_blocks() const {
    return std::max<int64_t>(1, kTileTokens / call_.cache.block_tokens);
  }
  int64_t piece_blocks() const {  // whole tiles
    const int64_t tile = tile_blocks();
    return std::max<int64_t>(1, kPieceTokens / (call_.cache.block_tokens * tile)) * tile;
  }

  const AttentionCall& call_;
  const int64_t span_, kv_head_, dim_, group_;
};

}  // namespace
}  // namespace vilfredo
