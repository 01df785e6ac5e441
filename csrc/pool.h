// A persistent pool of threads for the parts of one operation: no queue, no allocation, no locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace vilfredo {

class Pool {
 public:
  // `threads` counts the caller, who works too. Throws std::system_error where they cannot be had.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // While watched, how long callers wait for the last worker is added up.
  void watch(bool watched) { watched_ = watched; }
  int64_t waited() const { return waited_; }  // nanoseconds

  // Calls work(item) once for every item in [0, items), spread over the threads, and returns when
  // all are done. Items are handed out one by one, and nobody waits for a worker that has not
  // begun: a core that is lost to another process slows a step down, but never stops it.
  // Not re-entrant: one caller at a time.
  template <class Work>
  void each(int64_t items, Work&& work) {
    if (items <= 1 || workers_.empty()) {
      for (int64_t item = 0; item < items; ++item) work(item);
      return;
    }
    using Bare = std::remove_reference_t<Work>;
    dispatch(items, [](void* context, int64_t item) { (*static_cast<Bare*>(context))(item); },
             const_cast<void*>(static_cast<const void*>(&work)));
  }

 private:
  using Function = void (*)(void* context, int64_t item);

  void dispatch(int64_t items, Function function, void* context);
  void take_items();
  void close();
  void work_until_closed();
  uint64_t wait_for_round(uint64_t seen);

  std::vector<std::thread> workers_;
  bool watched_ = false;  // the caller's alone, as is the time
  int64_t waited_ = 0;
  // What the round is about: written by the caller while the gate is shut and nobody is inside.
  Function function_ = nullptr;
  void* context_ = nullptr;
  int64_t items_ = 0;
  alignas(64) std::atomic<int64_t> next_{0};
  // Round number, whether it may be entered, and how many workers are inside; see pool.cpp.
  alignas(64) std::atomic<uint64_t> gate_{0};
  alignas(64) std::atomic<uint32_t> bell_{0};  // changes with each round: what sleepers wait on
  std::atomic<int> asleep_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace vilfredo
