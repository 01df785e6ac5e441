#include "pack.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "buffer.h"
#include "formats.h"

namespace vilfredo {
namespace {

const Format* find_format(std::string_view name) {
  for (const Format& format : kFormats)
    if (name == format.name) return &format;
  return nullptr;
}

Group read_group(const Format& format, const uint8_t* row, int64_t index) {
  const int64_t parts = format.block / kGroup;
  Group group{};
  format.read(row + index / parts * format.block_bytes, index % parts, group);
  return group;
}

// The power of two that brings the largest scale or minimum of the matrix to about 2^14: then
// none overflows float16, and only those a billion times smaller are rounded away.
float choose_gain(Pool& pool, const Format& format, const uint8_t* source, int64_t rows,
                  int64_t columns) {
  std::vector<float> largest(rows, 0.0f);
  const int64_t row_bytes = source_row_bytes(format.name, columns);
  pool.each(rows, [&](int64_t row) {
    for (int64_t g = 0; g < columns / kGroup; ++g) {
      const Group group = read_group(format, source + row * row_bytes, g);
      for (float value : {group.scales[0], group.scales[1], group.minimum})
        if (std::isfinite(value)) largest[row] = std::max(largest[row], std::fabs(value));
    }
  });
  const float most = rows ? *std::max_element(largest.begin(), largest.end()) : 0.0f;
  if (most == 0.0f) return 1.0f;
  return std::ldexp(1.0f, std::clamp(std::ilogb(most) - 14, -100, 100));
}

// See packed.h. `lane` is the group's own in each vector.
void write_codes(const Packed& packed, const uint8_t* codes, int64_t lane, uint8_t* out) {
  const int64_t vector = 4 * packed.lanes;
  const auto byte = [&](int v, int column) -> uint8_t& {
    return out[v * vector + 4 * lane + column % 4];
  };
  if (packed.form.layout == Layout::kInt8) {
    for (int column = 0; column < kGroup; ++column) byte(column / 4, column) = codes[column];
    return;
  }
  for (int column = 0; column < 16; ++column)
    byte(column / 4, column) =
        static_cast<uint8_t>((codes[column] & 15) | (codes[column + 16] & 15) << 4);
  const int high = packed.form.bits - 4, each = high ? 8 / high : 1;  // columns of a byte
  for (int v = 4; v < packed.form.vectors(); ++v)
    for (int b = 0; b < 4; ++b) byte(v, b) = 0;
  for (int column = 0; high && column < kGroup; ++column)
    byte(4 + column / 4 / each, column) |=
        static_cast<uint8_t>(codes[column] >> 4 << (column / 4 % each * high));
}

void write_group(const Packed& packed, const Group& group, int64_t lane, uint8_t* out) {
  const int64_t lanes = packed.lanes;
  write_codes(packed, group.codes, lane, out);
  auto* halves = reinterpret_cast<uint16_t*>(out + packed.form.code_bytes(packed.lanes));
  for (int part = 0; part < packed.form.scales; ++part)
    halves[part * lanes + lane] = float_to_half(group.scales[part] / packed.gain);
  if (packed.form.minima)
    halves[packed.form.scales * lanes + lane] = float_to_half(group.minimum / packed.gain);
}

template <class Word>
void write_dense_row(const Packed& packed, const uint8_t* row, int64_t lane, uint8_t* tile) {
  for (int64_t column = 0; column < packed.columns; ++column)
    std::memcpy(tile + (column * packed.lanes + lane) * sizeof(Word), row + column * sizeof(Word),
                sizeof(Word));
}

}  // namespace

int64_t source_row_bytes(std::string_view format, int64_t columns) {
  const Format* found = find_format(format);
  if (!found || columns % found->block) return -1;
  return columns / found->block * found->block_bytes;
}

Packed outline(std::string_view format, int64_t rows, int64_t columns, int lanes) {
  Packed packed{
      .form = find_format(format)->form, .lanes = lanes, .rows = rows, .columns = columns};
  packed.bytes = packed.tiles() * packed.tile_bytes();
  return packed;
}

Packed pack(Pool& pool, std::string_view format, const uint8_t* source, int64_t rows,
            int64_t columns, int lanes) {
  const size_t bytes = outline(format, rows, columns, lanes).bytes;
  return pack(pool, format, source, rows, columns, lanes, allocate(bytes));
}

Packed pack(Pool& pool, std::string_view format, const uint8_t* source, int64_t rows,
            int64_t columns, int lanes, std::shared_ptr<uint8_t> memory) {
  const Format& from = *find_format(format);
  const int64_t row_bytes = source_row_bytes(format, columns);
  Packed packed = outline(format, rows, columns, lanes);
  if (!packed.form.dense()) packed.gain = choose_gain(pool, from, source, rows, columns);
  packed.data = memory;
  pool.each(packed.tiles(), [&](int64_t index) {
    uint8_t* tile = memory.get() + index * packed.tile_bytes();
    const int64_t first = index * lanes, count = std::min<int64_t>(lanes, rows - first);
    if (count < lanes) std::fill_n(tile, packed.tile_bytes(), uint8_t{0});
    for (int64_t lane = 0; lane < count; ++lane) {
      const uint8_t* row = source + (first + lane) * row_bytes;
      if (packed.form.layout == Layout::kFloat)
        write_dense_row<uint32_t>(packed, row, lane, tile);
      else if (packed.form.dense())
        write_dense_row<uint16_t>(packed, row, lane, tile);
      else
        for (int64_t g = 0; g < columns / kGroup; ++g)
          write_group(packed, read_group(from, row, g), lane,
                      tile + g * packed.form.group_bytes(lanes));
    }
  });
  return packed;
}

}  // namespace vilfredo
