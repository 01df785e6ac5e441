// The steady clock in nanoseconds, which on every system is Python's time.monotonic_ns as well.
#pragma once

#include <chrono>
#include <cstdint>

namespace vilfredo {

inline int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace vilfredo
