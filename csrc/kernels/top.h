// The k largest logits of each row and the logarithm of the sum of exponentials.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "norm.h"

namespace vilfredo {
namespace {

struct Candidate {
  float value;
  int32_t id;
};

// Whether a comes before b: the larger value, then the lower id.
inline bool before(const Candidate& a, const Candidate& b) {
  return a.value > b.value || (a.value == b.value && a.id < b.id);
}

// The k best seen so far: a heap whose front is the worst of them.
class Best {
 public:
  explicit Best(int64_t k) : k_(k) { heap_.reserve(k); }

  // What a value must exceed to be kept: ids come in rising order, so an equal one never is.
  float threshold() const {
    return full() ? heap_.front().value : -std::numeric_limits<float>::infinity();
  }
  bool full() const { return static_cast<int64_t>(heap_.size()) == k_; }
  void offer(Candidate candidate) {
    if (full()) {
      if (!before(candidate, heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), before);
      heap_.back() = candidate;
    } else {
      heap_.push_back(candidate);
    }
    std::push_heap(heap_.begin(), heap_.end(), before);
  }
  const std::vector<Candidate>& sorted() {
    std::sort(heap_.begin(), heap_.end(), before);
    return heap_;
  }

 private:
  int64_t k_;
  std::vector<Candidate> heap_;
};

template <class V>
void top_of_row(const float* row, int64_t vocabulary, int64_t k, int32_t* ids, float* values,
                float* logsumexp) {
  using F = typename V::F;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Best best(k);
  // x - x is NaN for NaN and both infinities; -inf is fine, so it is lifted to 0 first.
  F check = V::zero();
  each_vector<V>(vocabulary, [&](int64_t i, int64_t count) {
    const F lanes = count == V::kLanes ? V::load(row + i) : load_part<V>(row + i, count, -infinity);
    const F lifted = V::max(V::set(std::numeric_limits<float>::lowest()), lanes);
    check = V::add(check, V::sub(lifted, lifted));
    if (best.full() && !V::any_greater(lanes, V::set(best.threshold()))) return;
    for (int64_t j = 0; j < count; ++j)
      if (row[i + j] > best.threshold() || !best.full())
        best.offer({row[i + j], static_cast<int32_t>(i + j)});
  });
  const std::vector<Candidate>& sorted = best.sorted();
  for (int64_t j = 0; j < k; ++j) {
    ids[j] = sorted[j].id;
    values[j] = sorted[j].value;
  }
  const float largest = values[0];
  if (std::isnan(V::sum(check)) || !std::isfinite(largest)) {
    ids[0] = -1;
    *logsumexp = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  F sum = V::zero();
  each_vector<V>(vocabulary, [&](int64_t i, int64_t count) {
    const F lanes = count == V::kLanes ? V::load(row + i) : load_part<V>(row + i, count, -infinity);
    sum = V::add(sum, exp<V>(V::sub(lanes, V::set(largest))));
  });
  *logsumexp = largest + std::log(V::sum(sum));
}

template <class V>
void top(Pool& pool, const float* logits, int64_t n, int64_t vocabulary, int64_t k,
         int32_t* out_ids, float* out_values, float* out_logsumexp) {
  each_row(pool, n, vocabulary, [&](int64_t row) {
    top_of_row<V>(logits + row * vocabulary, vocabulary, k, out_ids + row * k, out_values + row * k,
                  out_logsumexp + row);
  });
}

}  // namespace
}  // namespace vilfredo
