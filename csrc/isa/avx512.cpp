#include "../simd/avx512.h"

#include "make_table.h"

namespace vilfredo {

extern const Table avx512_table;
const Table avx512_table = make_table<Avx512>("cpu-avx512");

}  // namespace vilfredo
