// out = x · weightᵀ on the matrix unit (AMX): both sides in bfloat16, sums in float32.
//
// The unit multiplies tiles of 16 rows by 32 columns. Every sum runs over the columns in order,
// whatever else is computed: among products of this kind a row's result depends on itself alone.
//
// Two tiles of weights (32 rows) are unpacked for all rows of x at hand. Few rows keep their sums in
// the unit while the weights stream through; many take the weights a slab of columns at a time, from
// the first level of cache, and keep their sums in memory.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "../table.h"
#include "tile_unit.h"
#include "tile_unpack.h"

namespace vilfredo {
namespace {

constexpr int64_t kSlab = 8;  // groups of columns unpacked at once: 16 KiB for two tiles, which
                              // stay in the first level of cache while x streams past them
constexpr int64_t kCache = 512 * 1024;  // bytes of x that stay in the second level

// Tiles 0 to 3 are the sums: of block of rows i and tile of weights j in tile 2 i + j.
inline void load_sums(const float* sums, bool both) {
  _tile_loadd(0, sums, 64);
  _tile_loadd(1, sums + 256, 64);
  if (both) {
    _tile_loadd(2, sums + 512, 64);
    _tile_loadd(3, sums + 768, 64);
  }
}

inline void store_sums(float* sums, bool both) {
  _tile_stored(0, sums, 64);
  _tile_stored(1, sums + 256, 64);
  if (both) {
    _tile_stored(2, sums + 512, 64);
    _tile_stored(3, sums + 768, 64);
  }
}

inline void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

// One group of columns: two tiles of weights times one or two blocks of 16 rows.
inline void multiply(const uint8_t* weights, const uint8_t* x, int64_t next_block, bool both) {
  _tile_loadd(6, weights, 64);
  _tile_loadd(7, weights + kSlab * kTileBytes, 64);
  _tile_loadd(4, x, 64);
  if (both) _tile_loadd(5, x + next_block, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  if (both) {
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

template <class Unpack>
class TileProduct {
 public:
  TileProduct(const LinearPart& part, Buffer<float>& sums)
      : part_(part), weight_(part.linear.weight), groups_(weight_.columns / kGroup),
        blocks_((part.last - part.first + kTileRows - 1) / kTileRows), sums_(sums) {}

  void run() {
    const TileUnit unit(TileShape::whole());
    if (blocks_ <= 2) {
      for (int64_t tile = part_.first_tile; tile < part_.last_tile; tile += 2) few(tile);
      return;
    }
    const int64_t pairs = (part_.last_tile - part_.first_tile + 1) / 2;
    sums_.reserve(pairs * blocks_ * 512);
    const int64_t most = kCache / (blocks_ * kTileBytes) / kSlab * kSlab;
    const int64_t section = std::max(kSlab, most);
    for (int64_t begin = 0; begin < groups_; begin += section)
      for (int64_t pair = 0; pair < pairs; ++pair)
        for (int64_t g = begin; g < std::min(begin + section, groups_); g += kSlab)
          slab(pair, g, std::min({g + kSlab, begin + section, groups_}));
    for (int64_t block = 0; block < blocks_; ++block)
      finish(part_.first_tile, part_.last_tile, block, sums_of(0, block), blocks_ * 512);
  }

 private:
  // Groups [begin, end) of two tiles of weights for all rows of x.
  void slab(int64_t pair, int64_t begin, int64_t end) {
    alignas(64) uint8_t weights[2 * kSlab * kTileBytes];
    for (int64_t g = begin; g < end; ++g)
      unpack(part_.first_tile + 2 * pair, g, weights + (g - begin) * kTileBytes);
    for (int64_t block = 0; block < blocks_; block += 2) {
      const bool both = block + 1 < blocks_;
      float* sums = sums_of(pair, block);
      if (begin == 0)
        zero_sums();
      else
        load_sums(sums, both);
      const uint8_t* x = rows_of(block);
      for (int64_t g = begin; g < end; ++g)
        multiply(weights + (g - begin) * kTileBytes, x + g * kTileBytes, groups_ * kTileBytes,
                 both);
      store_sums(sums, both);
    }
  }

  // At most 32 rows of x: the unit multiplies one group while the next is unpacked.
  void few(int64_t tile) {
    alignas(64) uint8_t weights[2 * kSlab * kTileBytes];
    alignas(64) float sums[1024];
    const bool both = blocks_ == 2;
    const uint8_t* x = rows_of(0);
    const auto place = [&](int64_t g) { return weights + g % kSlab * kTileBytes; };
    constexpr int64_t ahead = 2;  // groups: what is unpacked must reach the cache before it is read
    zero_sums();
    for (int64_t g = 0; g < std::min(ahead, groups_); ++g) unpack(tile, g, place(g));
    for (int64_t g = 0; g < groups_; ++g) {
      if (g + ahead < groups_) unpack(tile, g + ahead, place(g + ahead));
      multiply(place(g), x + g * kTileBytes, groups_ * kTileBytes, both);
    }
    store_sums(sums, both);
    const int64_t end = std::min(tile + 2, part_.last_tile);
    for (int64_t block = 0; block < blocks_; ++block)
      finish(tile, end, block, sums + block * 512, 0);
  }

  // A group of two tiles; where there is no second one, its sums are never read.
  void unpack(int64_t tile, int64_t g, uint8_t* out) const {
    for (int64_t i = 0; i < 2 && tile + i < part_.last_tile; ++i) {
      const uint8_t* from = weight_.tile(tile + i);
      prefetch(from, g);
      Unpack::group(weight_, from, g, out + i * kSlab * kTileBytes);
    }
  }

  // Asks for what comes next: the same place of the next two tiles, or of tiles that are long, what
  // lies a little further on.
  void prefetch(const uint8_t* tile, int64_t g) const {
    const auto tile_bytes = static_cast<int64_t>(weight_.tile_bytes());
    const int64_t bytes = tile_bytes / groups_;
    const int64_t ahead = tile_bytes < 8 * 1024 ? 2 * tile_bytes : static_cast<int64_t>(kPrefetched);
    for (int64_t line = 0; line < bytes; line += 64)
      __builtin_prefetch(tile + g * bytes + ahead + line);
  }

  // The sums of a block of rows and tiles [tile, end) to their places in out, with the bias; those
  // of the next two tiles lie `next_pair` further. A row of out at a time: it is far to the next.
  void finish(int64_t tile, int64_t end, int64_t block, const float* sums,
              int64_t next_pair) const {
    const Linear& linear = part_.linear;
    const int64_t first = part_.first + block * kTileRows;
    const int64_t count = std::min(kTileRows, part_.last - first);
    for (int64_t r = 0; r < count; ++r) {
      float* out = linear.out + (first + r) * weight_.rows;
      for (int64_t i = tile; i < end; ++i) {
        const int64_t row = i * 16, width = std::min<int64_t>(16, weight_.rows - row);
        __m512 sum = _mm512_load_ps(sums + (i - tile) / 2 * next_pair + (i - tile) % 2 * 256 + r * 16);
        if (linear.bias) sum = _mm512_add_ps(sum, load_at<Avx512>(linear.bias + row, width));
        store_at<Avx512>(out + row, sum, width);
      }
    }
  }

  const uint8_t* rows_of(int64_t block) const {
    const auto* tiles = reinterpret_cast<const uint8_t*>(part_.prepared.tiles.data());
    return tiles + (part_.first / kTileRows + block) * groups_ * kTileBytes;
  }
  float* sums_of(int64_t pair, int64_t block) {
    return sums_.data() + (pair * blocks_ + block) * 512;
  }

  const LinearPart& part_;
  const Packed& weight_;
  const int64_t groups_, blocks_;
  Buffer<float>& sums_;
};

}  // namespace
}  // namespace vilfredo
