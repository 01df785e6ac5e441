// A weight matrix in the layout that the kernels read.
//
// Rows are taken `lanes` at a time, a tile, so that a vector lane is a row and no sum ever crosses
// lanes. Rows that fill up the last tile are zero.
//
// Codes: a tile is a run of groups of 32 columns, each
//   codes   Int4: 4 vectors of 4 bytes a lane. Byte b of vector v holds column 4v + b in its low
//           nibble and column 16 + 4v + b in its high nibble.
//           Int5, Int6: the low four bits as Int4, then the high ones: of column 4v + b, in byte b
//           of one vector, bit v (Int5), or of vector v / 4 of two, bits 2 (v % 4) and the next.
//           Int8: 8 vectors; byte b of vector v holds column 4v + b.
//   scales  float16, one a lane for each of the group's `scales` equal parts
//   minima  float16, one a lane, where `minima`
// and weight = gain * (scale * (code - offset) + minimum).
//
// Dense: a tile is, for each column, `lanes` values side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace vilfredo {

constexpr int kGroup = 32;      // columns that share one activation scale
constexpr int kAlignment = 64;  // bytes

enum class Layout { kInt4, kInt5, kInt6, kInt8, kHalf, kBfloat, kFloat };

// What distinguishes one packed form from another; kernels are compiled for each.
struct Form {
  Layout layout;
  int bits = 0;         // of a code
  bool minima = false;  // an explicit minimum a group, in place of an offset
  int scales = 1;       // a group of 32
  int offset() const { return minima ? 0 : 1 << (bits - 1); }

  bool dense() const { return layout >= Layout::kHalf; }
  size_t tile_bytes(int64_t columns, int lanes) const {
    if (dense()) return static_cast<size_t>(columns) * lanes * (layout == Layout::kFloat ? 4 : 2);
    return static_cast<size_t>(columns / kGroup) * group_bytes(lanes);
  }
  constexpr size_t code_bytes(int lanes) const {
    return static_cast<size_t>(lanes) * 4 * vectors();
  }
  constexpr int vectors() const {  // of a group's codes
    switch (layout) {
      case Layout::kInt4: return 4;
      case Layout::kInt5: return 5;
      case Layout::kInt6: return 6;
      default: return 8;
    }
  }
  constexpr size_t group_bytes(int lanes) const {
    return code_bytes(lanes) + static_cast<size_t>(lanes) * 2 * (scales + (minima ? 1 : 0));
  }
};

// Copies share the memory.
struct Packed {
  Form form;
  int lanes = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  float gain = 1.0f;  // a power of two that keeps float16 scales in their best range
  size_t bytes = 0;
  std::shared_ptr<const uint8_t> data;

  int64_t tiles() const { return (rows + lanes - 1) / lanes; }
  size_t tile_bytes() const { return form.tile_bytes(columns, lanes); }
  const uint8_t* tile(int64_t index) const { return data.get() + index * tile_bytes(); }
};

}  // namespace vilfredo
