#include "table.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace vilfredo {

extern const Table scalar_table;
#if defined(__x86_64__)
extern const Table avx2_table;
extern const Table avx512_table;
extern const Table amx_table;
extern const Table amx_exact_table;

namespace {

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

// The unit's state is large, so a process must ask for it; threads made later may use it too.
bool may_use_tiles() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr int request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr unsigned amx = 1u << 22 | 1u << 24 | 1u << 25;  // bfloat16, tiles, bytes
  if ((d & amx) != amx) return false;
  constexpr unsigned avx512_bf16 = 1u << 5;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & avx512_bf16)) return false;
  return may_use_tiles();
}

}  // namespace
#endif

std::vector<const Table*> available_tables() {
  std::vector<const Table*> tables;
#if defined(__x86_64__)
  if (has_avx512() && has_amx()) {
    tables.push_back(&amx_table);
    tables.push_back(&amx_exact_table);
  }
  if (has_avx512()) tables.push_back(&avx512_table);
  if (has_avx2()) tables.push_back(&avx2_table);
#endif
  tables.push_back(&scalar_table);
  return tables;
}

}  // namespace vilfredo
