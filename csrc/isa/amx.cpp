// AVX-512, and the matrix unit (AMX with bfloat16) for products of many rows.
#include "../simd/avx512.h"

#include "../kernels/tile_linear.h"
#include "make_table.h"

namespace vilfredo {
namespace {

// Integers throughout: what AVX-512 computes, to the last bit.
constexpr Table make_exact_table() {
  Table table = make_table<Avx512>("cpu-amx-exact");
  table.linear = tile_linear;
  return table;
}

constexpr Table make_amx_table() {
  Table table = make_table<Avx512>("cpu-amx");
  table.batch_invariant = false;  // few rows and many are rounded differently
  table.factor_error = 1.0f / 512;  // half a unit in the last place of bfloat16
  table.reading = tile_reading;
  table.prepare = tile_prepare;
  table.linear = tile_linear;
  return table;
}

}  // namespace

extern const Table amx_table;
extern const Table amx_exact_table;
const Table amx_table = make_amx_table();
const Table amx_exact_table = make_exact_table();

}  // namespace vilfredo
