// AVX-512, and the matrix unit (AMX with bfloat16) for products of many rows.
#include "../simd/avx512.h"

#include "../kernels/tile_linear.h"
#include "make_table.h"

namespace vilfredo {
namespace {

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
const Table amx_table = make_amx_table();

}  // namespace vilfredo
