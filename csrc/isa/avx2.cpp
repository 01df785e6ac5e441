#include "../simd/avx2.h"

#include "make_table.h"

namespace vilfredo {

extern const Table avx2_table;
const Table avx2_table = make_table<Avx2>("cpu-avx2");

}  // namespace vilfredo
