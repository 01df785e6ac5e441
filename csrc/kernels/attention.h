// Causal attention over the paged cache, in place: how it is shared among the threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention_head.h"

namespace vilfredo {
namespace {

// Queries of an item: enough to share each key among several, few enough to balance the threads.
constexpr int64_t kQueriesAnItem = 48;
// Items a thread below which pieces of the past become items of their own.
constexpr int64_t kFewItems = 8;

// Pieces as items: the most that any span has, so that an item's number says where it belongs.
template <class V>
void attention_by_pieces(Pool& pool, const AttentionCall& call, int64_t queries, int64_t pieces) {
  const int64_t kv_heads = call.cache.kv_heads, row = 2 + call.cache.head_dim;
  call.scratch->reserve(call.spans * kv_heads * pieces * queries * row);
  float* scratch = call.scratch->data();
  const auto partial = [&](int64_t head, int64_t piece) {
    return scratch + (head * pieces + piece) * queries * row;
  };
  pool.each(call.spans * kv_heads * pieces, [&](int64_t item) {
    const int64_t head = item / pieces, piece = item % pieces;
    const HeadQueries<V> some(call, head / kv_heads, head % kv_heads);
    if (some.count() == 0) return;
    const auto [first, last] = some.pieces(0, some.count());
    if (first + piece < last)
      some.compute_piece(0, some.count(), first + piece, partial(head, piece));
  });
  pool.each(call.spans * kv_heads, [&](int64_t head) {
    const HeadQueries<V> some(call, head / kv_heads, head % kv_heads);
    if (some.count() == 0) return;
    const auto [first, last] = some.pieces(0, some.count());
    for (int64_t query = 0; query < some.count(); ++query)
      some.merge_pieces(query, partial(head, 0) + query * row, last - first, queries * row);
  });
}

template <class V>
void attention(Pool& pool, const AttentionCall& call) {
  const int64_t kv_heads = call.cache.kv_heads;
  int64_t queries = 0, pieces = 0;
  for (int64_t span = 0; span < call.spans; ++span) {
    const HeadQueries<V> some(call, span, 0);
    if (some.count() == 0) continue;
    queries = std::max(queries, some.count());
    const auto [first, last] = some.pieces(0, some.count());
    pieces = std::max(pieces, last - first);
  }
  const int64_t chunks = (queries + kQueriesAnItem - 1) / kQueriesAnItem;
  const int64_t items = call.spans * kv_heads * chunks;
  if (pool.threads() > 1 && pieces > 1 && chunks == 1 && items < kFewItems * pool.threads())
    return attention_by_pieces<V>(pool, call, queries, pieces);
  pool.each(items, [&](int64_t item) {
    const int64_t head = item / chunks;
    const HeadQueries<V> some(call, head / kv_heads, head % kv_heads);
    // The last queries see most: whoever begins with them leaves small items for the end.
    const int64_t first = (chunks - 1 - item % chunks) * kQueriesAnItem;
    if (first < some.count()) some.compute(first, std::min(first + kQueriesAnItem, some.count()));
  });
}

}  // namespace
}  // namespace vilfredo
