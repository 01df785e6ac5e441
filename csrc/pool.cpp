#include "pool.h"

#include "clock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace vilfredo {
namespace {

// The gate's bits: the round above, then whether it is open, then the workers inside.
constexpr uint64_t kInside = (uint64_t{1} << 16) - 1;
constexpr uint64_t kOpen = uint64_t{1} << 16;
constexpr int kRoundShift = 17;

uint64_t round_of(uint64_t gate) { return gate >> kRoundShift; }

// 50 to 200 microseconds of spinning, longer than the gaps between the operations of a step, so
// that workers sleep only when the engine does.
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
  try {
    for (int index = 1; index < threads; ++index)
      workers_.emplace_back([this] { work_until_closed(); });
  } catch (...) {  // the system has no thread left: those that run must not outlive the pool
    close();
    throw;
  }
}

Pool::~Pool() { close(); }

void Pool::close() {
  closed_ = true;
  bell_.fetch_add(1);
  bell_.notify_all();
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
  const uint64_t round = round_of(gate_.load(std::memory_order_relaxed)) + 1;
  gate_.store(round << kRoundShift | kOpen, std::memory_order_release);
  // The bell and `asleep_` are sequentially consistent on both sides: either a worker about to
  // sleep sees the new bell, or we see that it sleeps.
  bell_.fetch_add(1);
  if (asleep_.load() > 0) bell_.notify_all();
  take_items();
  const int64_t idle = watched_ ? now() : 0;
  // Every item is taken. Whoever has not entered no longer may; whoever is inside is at work.
  gate_.fetch_and(~kOpen, std::memory_order_relaxed);
  for (int spin = 0; gate_.load(std::memory_order_acquire) & kInside; ++spin) {
    if (spin < kSpins)
      pause();
    else
      std::this_thread::yield();
  }
  if (watched_) waited_ += now() - idle;
}

void Pool::work_until_closed() {
  for (uint64_t seen = 0;;) {
    uint64_t gate = wait_for_round(seen);
    if (closed_) return;
    seen = round_of(gate);
    // Enters only the round that was seen, and only while it is open.
    bool inside = false;
    while (!inside && (gate & kOpen) && round_of(gate) == seen)
      inside = gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire,
                                           std::memory_order_acquire);
    if (!inside) continue;
    take_items();
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

// The gate once it shows another round than `seen`, or the pool is closed.
uint64_t Pool::wait_for_round(uint64_t seen) {
  for (;;) {
    const uint32_t bell = bell_.load();
    for (int spin = 0; spin < kSpins; ++spin) {
      const uint64_t gate = gate_.load(std::memory_order_acquire);
      if (round_of(gate) != seen || closed_.load(std::memory_order_relaxed)) return gate;
      pause();
    }
    asleep_.fetch_add(1);
    bell_.wait(bell);
    asleep_.fetch_sub(1);
  }
}

}  // namespace vilfredo
