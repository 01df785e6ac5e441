#include "linear.h"

#include <algorithm>

namespace vilfredo {
namespace {

// Enough items to even out a disturbed core, few enough that each is a long run of memory.
constexpr int64_t kItemsAThread = 4;

// How one product is cut: `chunks` runs of tiles times `blocks` runs of rows of x.
struct Cut {
  int64_t tiles, chunk, chunks, rows, block, blocks;

  Cut(const Packed& weight, Reading reading, int64_t n, int threads)
      : tiles(weight.tiles()), rows(n), block(rows_at_once(weight, reading)) {
    blocks = (n + block - 1) / block;
    const int64_t most = threads * kItemsAThread;
    chunk = std::max<int64_t>(1, (tiles + most - 1) / most);
    if (reading == Reading::kTiles) chunk = std::min<int64_t>(chunk + chunk % 2, kMostTiles);
    chunks = (tiles + chunk - 1) / chunk;
  }
  int64_t items() const { return chunks * blocks; }
  LinearPart part(const Linear& linear, Reading reading, const float* x,
                  const Activations& prepared, int64_t item) const {
    const int64_t tile = item % chunks * chunk, row = item / chunks * block;
    return {linear, reading, x, prepared, tile, std::min(tile + chunk, tiles), row,
            std::min(row + block, rows)};
  }

 private:
  // Rows that fit beside a tile in a core's own cache; the matrix unit blocks for itself.
  static int64_t rows_at_once(const Packed& weight, Reading reading) {
    if (reading == Reading::kTiles) return kMostTileRows;
    constexpr int64_t cache = 128 * 1024;
    const int64_t bytes = weight.columns * (reading == Reading::kFloats ? 4 : 2);
    return std::clamp<int64_t>(cache / std::max<int64_t>(bytes, 1) & ~int64_t{7}, 8, 512);
  }
};

}  // namespace

void run_linears(Pool& pool, const Table& table, std::span<const Linear> linears, Reading reading,
                 const float* x, const Activations& prepared, int64_t n) {
  int64_t items = 0;
  for (const Linear& linear : linears)
    items += Cut(linear.weight, reading, n, pool.threads()).items();
  pool.each(items, [&](int64_t item) {
    for (const Linear& linear : linears) {
      const Cut cut(linear.weight, reading, n, pool.threads());
      if (item < cut.items())
        return table.linear(cut.part(linear, reading, x, prepared, item));
      item -= cut.items();
    }
  });
}

}  // namespace vilfredo
