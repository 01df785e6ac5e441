// The matrix unit (AMX): eight tiles of up to 16 rows of 64 bytes, set up for one run of products.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace vilfredo {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileBytes = 1024;

// Tiles 0 to 3 hold sums, 4 and 5 rows of x, 6 and 7 weights.
struct TileShape {
  int rows;          // of x, and so of the sums
  int column_bytes;  // of x; a row of a weight tile is four of them for each of 16 weight rows

  static constexpr TileShape whole() { return {16, 64}; }
};

class TileUnit {
 public:
  explicit TileUnit(TileShape shape) {
    struct alignas(64) {
      uint8_t palette = 1, start = 0, reserved[14] = {};
      uint16_t bytes[16] = {};
      uint8_t rows[16] = {};
    } config;
    for (int tile = 0; tile < 8; ++tile) {
      const bool x = tile == 4 || tile == 5;
      config.bytes[tile] = static_cast<uint16_t>(x ? shape.column_bytes : 64);
      config.rows[tile] = static_cast<uint8_t>(tile < 6 ? shape.rows : shape.column_bytes / 4);
    }
    // GCC 12 believes that the instruction reads eight bytes, and drops the stores of the others.
    asm volatile("" : : "r"(&config) : "memory");
    _tile_loadconfig(&config);
  }
  ~TileUnit() { _tile_release(); }
  TileUnit(const TileUnit&) = delete;
  TileUnit& operator=(const TileUnit&) = delete;
};

}  // namespace
}  // namespace vilfredo
