// From a checkpoint's bytes to a packed matrix.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "packed.h"
#include "pool.h"

namespace vilfredo {

// The bytes of one row in a checkpoint's format, or -1 where the format is unknown or `columns` is
// not a whole number of its blocks.
int64_t source_row_bytes(std::string_view format, int64_t columns);

// A matrix of a known format, as it will be: without gain and memory.
Packed outline(std::string_view format, int64_t rows, int64_t columns, int lanes);

// `source` holds `rows` rows of `format`, one after the other. `memory` has the outline's bytes,
// aligned to kAlignment; the result shares it.
Packed pack(Pool& pool, std::string_view format, const uint8_t* source, int64_t rows,
            int64_t columns, int lanes, std::shared_ptr<uint8_t> memory);

// The same, into memory of its own.
Packed pack(Pool& pool, std::string_view format, const uint8_t* source, int64_t rows,
            int64_t columns, int lanes);

}  // namespace vilfredo
