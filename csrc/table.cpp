#include "table.h"

namespace vilfredo {

extern const Table scalar_table;
#if defined(__x86_64__)
extern const Table avx2_table;
extern const Table avx512_table;
#endif

std::vector<const Table*> available_tables() {
  std::vector<const Table*> tables;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512vnni"))
    tables.push_back(&avx512_table);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    tables.push_back(&avx2_table);
#endif
  tables.push_back(&scalar_table);
  return tables;
}

}  // namespace vilfredo
