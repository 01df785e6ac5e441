// Matrices in memory of the table's own, or in memory that Python gives and may keep on disk.

#include "../pack.h"
#include "kernels.h"

namespace vilfredo {
namespace {

// The bytes of one row in the checkpoint.
int64_t check_format(const std::string& format, int64_t rows, int64_t columns) {
  const int64_t row_bytes = source_row_bytes(format, columns);
  require(row_bytes >= 0, "format: unknown, or columns are not whole blocks of it");
  require(rows >= 0, "rows: negative");
  return row_bytes;
}

template <class A>
void check_memory(const A& memory, size_t bytes) {
  require(memory.size() == bytes, "memory: not the packed matrix's bytes");
  require(reinterpret_cast<uintptr_t>(memory.data()) % kAlignment == 0, "memory: not aligned");
}

// The array's memory, kept as long as anybody reads it.
template <class T>
std::shared_ptr<T> share(const Array<T, 1>& array) {
  return {array.data(), [array](T*) {}};
}

}  // namespace

std::string Kernels::layout() const {
  return "rows" + std::to_string(table_.lanes);
}

const char* layout_version() { return VILFREDO_LAYOUT_VERSION; }

int64_t Kernels::packed_bytes(const std::string& format, int64_t rows, int64_t columns) const {
  check_format(format, rows, columns);
  return static_cast<int64_t>(outline(format, rows, columns, table_.lanes).bytes);
}

Packed Kernels::pack(const std::string& format, const Bytes& data, int64_t rows, int64_t columns,
                     const std::optional<Array<uint8_t, 1>>& memory) {
  const int64_t row_bytes = check_format(format, rows, columns);
  require(static_cast<int64_t>(data.size()) == rows * row_bytes,
          "data: not rows * columns of the format");
  const int lanes = table_.lanes;
  if (!memory) return vilfredo::pack(pool_, format, data.data(), rows, columns, lanes);
  check_memory(*memory, outline(format, rows, columns, lanes).bytes);
  return vilfredo::pack(pool_, format, data.data(), rows, columns, lanes, share(*memory));
}

Packed Kernels::open(const std::string& format, int64_t rows, int64_t columns, float gain,
                     const Bytes& memory) const {
  check_format(format, rows, columns);
  Packed packed = outline(format, rows, columns, table_.lanes);
  check_memory(memory, packed.bytes);
  packed.gain = gain;
  packed.data = share(memory);
  return packed;
}

}  // namespace vilfredo
