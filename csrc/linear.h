// Matrix products of one input, shared among the threads.
#pragma once

#include <cstdint>
#include <span>

#include "pool.h"
#include "table.h"

namespace vilfredo {

// Computes every one of `linears`, which all read x [n, columns] in the same way; `prepared` is
// made from it.
void run_linears(Pool& pool, const Table& table, std::span<const Linear> linears, Reading reading,
                 const float* x, const Activations& prepared, int64_t n);

}  // namespace vilfredo
