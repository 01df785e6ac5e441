// Matrix products of one input, shared among the threads.
#pragma once

#include <cstdint>
#include <span>

#include "pool.h"
#include "table.h"

namespace vilfredo {

// Computes every one of `linears`, which read x [n, columns] or, where their weights are integers,
// its quantized form.
void run_linears(Pool& pool, const Table& table, std::span<const Linear> linears, const float* x,
                 const Activations& codes, int64_t n);

}  // namespace vilfredo
