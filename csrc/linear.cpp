#include "linear.h"

#include <algorithm>

namespace vilfredo {
namespace {

// Rows of x are taken in blocks that fit beside a tile in a core's own cache.
constexpr int64_t kBlockBytes = 128 * 1024;
// Enough items to even out a disturbed core, few enough that each is a long run of memory.
constexpr int64_t kItemsAThread = 4;

// How one product is cut: `chunks` runs of tiles times `blocks` runs of rows.
struct Cut {
  int64_t tiles, chunk, chunks, rows, block, blocks;

  Cut(const Linear& linear, int64_t n, int64_t most_chunks)
      : tiles(linear.weight.tiles()), rows(n) {
    const int64_t row_bytes = linear.weight.columns * (linear.weight.form.dense() ? 4 : 2);
    block = std::clamp<int64_t>(kBlockBytes / std::max<int64_t>(row_bytes, 1) & ~int64_t{7}, 8, 512);
    blocks = (n + block - 1) / block;
    chunk = std::max<int64_t>(1, (tiles + most_chunks - 1) / most_chunks);
    chunks = (tiles + chunk - 1) / chunk;
  }
  int64_t items() const { return chunks * blocks; }
  LinearPart part(const Linear& linear, const float* x, const Activations& codes,
                  int64_t item) const {
    const int64_t tile = item % chunks * chunk, row = item / chunks * block;
    return {linear, x, codes, tile, std::min(tile + chunk, tiles), row,
            std::min(row + block, rows)};
  }
};

}  // namespace

void run_linears(Pool& pool, const Table& table, std::span<const Linear> linears, const float* x,
                 const Activations& codes, int64_t n) {
  const int64_t most = int64_t{pool.threads()} * kItemsAThread;
  int64_t items = 0;
  for (const Linear& linear : linears) items += Cut(linear, n, most).items();
  pool.each(items, [&](int64_t item) {
    for (const Linear& linear : linears) {
      const Cut cut(linear, n, most);
      if (item < cut.items()) return table.linear(cut.part(linear, x, codes, item));
      item -= cut.items();
    }
  });
}

}  // namespace vilfredo
