// A step as a list of calls that was recorded once and is replayed without Python.
//
// Recording brings together what gains by it, and only where each result stays equal to the last
// bit: neighbouring calls that work row by row become one chain, in which a thread takes some rows
// through all of them while they are in its cache; products of one input share its quantization
// and one round of the pool.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "pool.h"
#include "table.h"

namespace vilfredo {

// Memory that a call reads or writes: `rows` rows, one after the other.
struct Region {
  const void* base;
  int64_t rows, row_bytes;
};

// A call that computes each of its rows from the same row of its regions alone.
struct RowCall {
  std::string op;
  int64_t rows;
  std::vector<Region> regions;
  std::function<void(Pool&, int64_t first, int64_t count)> run;
};

class Program {
 public:
  // What a check looks at; calls that look at the same need it once a step.
  using Subject = std::tuple<const void*, const void*, int64_t>;

  Program(const Table& table, Activations& prepared) : table_(table), prepared_(prepared) {}

  void add(RowCall call);
  void add(const float* x, int64_t n, Linear linear);
  void add(std::string op, std::function<void(Pool&)> run);
  // A check of contents, made before the first call of every replay. It throws.
  void add_check(Subject subject, std::function<void()> check);

  // Whatever `owner` holds lives as long as the program: memory that calls point at.
  void keep(std::function<void()> owner) { kept_.push_back(std::move(owner)); }

  size_t size() const { return calls_.size(); }
  // `times`: room for [calls][3], begin, end and how much of it the calling thread waited for others,
  // in nanoseconds of the steady clock; or nullptr.
  void run(Pool& pool, int64_t* times) const;

  // Bytes of weights that each call reads and multiply-adds that it does, in products alone.
  using Work = std::pair<int64_t, int64_t>;
  std::vector<Work> work() const;

  // What each call does, as "rms_norm + prepare".
  std::vector<std::string> names() const;

 private:
  struct Chain {
    std::vector<RowCall> calls;
    int64_t rows() const { return calls.front().rows; }
    bool take(RowCall& call);
    void run(Pool& pool, Pool& alone) const;
  };
  struct Products {
    const float* x;
    int64_t n;
    Reading reading;
    std::vector<Linear> linears;
  };
  struct Single {
    std::string op;
    std::function<void(Pool&)> run;
  };
  using Call = std::variant<Chain, Products, Single>;

  void run(const Call& call, Pool& pool) const;

  const Table& table_;
  Activations& prepared_;  // of whatever x comes next: products follow at once
  std::vector<Call> calls_;
  std::map<Subject, std::function<void()>> checks_;
  std::vector<std::function<void()>> kept_;
  mutable Pool alone_{1};  // runs a thread's rows of a chain where that thread is
};

}  // namespace vilfredo
