#include "pool.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace vilfredo {
namespace {

// About 100 microseconds of spinning: longer than the gaps between the operations of a step, so
// that workers sleep only when the engine is idle.
constexpr int kSpins = 4000;

inline void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Pool::Pool(int threads) {
  for (int index = 1; index < threads; ++index)
    workers_.emplace_back([this] { work_until_closed(); });
}

Pool::~Pool() {
  closed_ = true;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Pool::take_items() {
  for (int64_t item; (item = next_.fetch_add(1, std::memory_order_relaxed)) < items_;)
    function_(context_, item);
}

void Pool::dispatch(int64_t items, Function function, void* context) {
  function_ = function;
  context_ = context;
  items_ = items;
  next_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  // Sequentially consistent, as are the worker's `asleep_` and its last look at the round: either
  // the worker sees the new round, or we see that it sleeps.
  round_.fetch_add(1);
  if (asleep_.load() > 0) round_.notify_all();
  take_items();
  for (int spin = 0; busy_.load(std::memory_order_acquire) > 0; ++spin) {
    if (spin < kSpins)
      pause();
    else
      std::this_thread::yield();  // the worker may have lost its core to someone else
  }
}

void Pool::work_until_closed() {
  for (uint32_t seen = 0;;) {
    for (int spin = 0; spin < kSpins && round_.load(std::memory_order_acquire) == seen; ++spin)
      pause();
    if (round_.load(std::memory_order_acquire) == seen) {
      asleep_.fetch_add(1);
      round_.wait(seen);
      asleep_.fetch_sub(1);
    }
    seen = round_.load(std::memory_order_acquire);
    if (closed_) return;
    take_items();
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace vilfredo
