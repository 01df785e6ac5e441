#include "../simd/scalar.h"

#include "make_table.h"

namespace vilfredo {

extern const Table scalar_table;
const Table scalar_table = make_table<Scalar>("cpu-scalar");

}  // namespace vilfredo
