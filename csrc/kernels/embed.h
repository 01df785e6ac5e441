// Rows of a packed matrix, unpacked: the embedding of tokens.
#pragma once

#include <cstdint>

#include "../half.h"
#include "norm.h"

namespace vilfredo {
namespace {

// One weight of a dense tile.
inline float dense_weight(const Packed& table, const uint8_t* tile, int64_t lane, int64_t column) {
  const int64_t index = column * table.lanes + lane;
  if (table.form.layout == Layout::kFloat) return reinterpret_cast<const float*>(tile)[index];
  const uint16_t value = reinterpret_cast<const uint16_t*>(tile)[index];
  return table.form.layout == Layout::kHalf ? half_to_float(value) : bfloat_to_float(value);
}

// The code of one column of a group.
inline int group_code(const Packed& table, const uint8_t* group, int64_t lane, int column) {
  const auto byte = [&](int v) -> int {
    return group[v * 4 * table.lanes + 4 * lane + column % 4];
  };
  if (table.form.layout == Layout::kInt8) return byte(column / 4);
  const int low = column < 16 ? byte(column / 4) & 15 : byte(column / 4 - 4) >> 4;
  const int high = table.form.bits - 4;
  if (high == 0) return low;
  const int each = 8 / high, v = column / 4;
  return low | (byte(4 + v / each) >> (v % each * high) & ((1 << high) - 1)) << 4;
}

inline void unpack_row(const Packed& table, int64_t row, float scale, float* out) {
  const Form form = table.form;
  const uint8_t* tile = table.tile(row / table.lanes);
  const int64_t lane = row % table.lanes;
  if (form.dense()) {
    for (int64_t column = 0; column < table.columns; ++column)
      out[column] = scale * dense_weight(table, tile, lane, column);
    return;
  }
  for (int64_t g = 0; g < table.columns / kGroup; ++g) {
    const uint8_t* group = tile + g * form.group_bytes(table.lanes);
    const auto* halves = reinterpret_cast<const uint16_t*>(group + form.code_bytes(table.lanes));
    const float minimum =
        form.minima ? half_to_float(halves[form.scales * table.lanes + lane]) : 0.0f;
    for (int column = 0; column < kGroup; ++column) {
      const int part = column * form.scales / kGroup;
      const float step = half_to_float(halves[part * table.lanes + lane]);
      const auto code = static_cast<float>(group_code(table, group, lane, column) - form.offset());
      out[g * kGroup + column] = scale * (table.gain * (step * code + minimum));
    }
  }
}

template <class V>
void embed(Pool& pool, const Packed& table, const int32_t* tokens, int64_t n, float scale,
           float* out) {
  each_row(pool, n, table.columns,
           [&](int64_t i) { unpack_row(table, tokens[i], scale, out + i * table.columns); });
}

}  // namespace
}  // namespace vilfredo
