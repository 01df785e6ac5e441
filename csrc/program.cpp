#include "program.h"

#include <algorithm>

#include "clock.h"
#include "linear.h"

namespace vilfredo {
namespace {

// Bytes of a chain's rows below which one thread is faster than waking the others.
constexpr int64_t kSerialBytes = 128 * 1024;
// Rows handed out at once: enough that handing out costs nothing, few enough to even out.
constexpr int64_t kMostRowsAnItem = 16;
constexpr int64_t kItemsAThread = 4;

// Whether row r of one region can only be touched by row r of the other, of `rows` rows each.
bool independent(const Region& a, const Region& b) {
  const auto *a_base = static_cast<const char*>(a.base), *b_base = static_cast<const char*>(b.base);
  if (a_base + a.rows * a.row_bytes <= b_base || b_base + b.rows * b.row_bytes <= a_base)
    return true;
  return a_base == b_base && a.row_bytes == b.row_bytes;
}

std::string shape(const Packed& weight) {
  return std::to_string(weight.columns) + "x" + std::to_string(weight.rows);
}

// The same call seen as one over fewer, longer rows: heads become tokens.
RowCall regrouped(RowCall call, int64_t rows) {
  if (call.rows == rows) return call;
  const int64_t each = call.rows / rows;
  for (Region& region : call.regions) {
    region.rows = rows;
    region.row_bytes *= each;
  }
  call.rows = rows;
  call.run = [run = std::move(call.run), each](Pool& pool, int64_t first, int64_t count) {
    run(pool, first * each, count * each);
  };
  return call;
}

}  // namespace

// Joins the chain, if the rows of both come down to the same rows.
bool Program::Chain::take(RowCall& call) {
  const int64_t fewer = std::min(rows(), call.rows);
  if (fewer == 0 || rows() % fewer || call.rows % fewer) return false;
  std::vector<RowCall> together;
  for (const RowCall& before : calls) together.push_back(regrouped(before, fewer));
  RowCall next = regrouped(call, fewer);
  for (const RowCall& before : together)
    for (const Region& a : before.regions)
      for (const Region& b : next.regions)
        if (!independent(a, b)) return false;
  together.push_back(std::move(next));
  calls = std::move(together);
  return true;
}

void Program::Chain::run(Pool& pool, Pool& alone) const {
  int64_t bytes = 0;
  for (const RowCall& call : calls)
    for (const Region& region : call.regions) bytes += region.rows * region.row_bytes;
  if (rows() == 1 || bytes <= kSerialBytes || pool.threads() == 1) {
    for (const RowCall& call : calls) call.run(alone, 0, call.rows);
    return;
  }
  const int64_t items = int64_t{pool.threads()} * kItemsAThread;
  const int64_t size = std::clamp<int64_t>(rows() / items, 1, kMostRowsAnItem);
  pool.each((rows() + size - 1) / size, [&](int64_t item) {
    const int64_t first = item * size, count = std::min(size, rows() - first);
    for (const RowCall& call : calls) call.run(alone, first, count);
  });
}

void Program::add(RowCall call) {
  if (!calls_.empty())
    if (auto* chain = std::get_if<Chain>(&calls_.back()))
      if (chain->take(call)) return;
  calls_.push_back(Chain{{std::move(call)}});
}

void Program::add(const float* x, int64_t n, Linear linear) {
  const Reading reading = table_.reading(linear.weight, n);
  if (!calls_.empty())
    if (auto* before = std::get_if<Products>(&calls_.back()))
      if (before->x == x && before->n == n && before->reading == reading) {
        before->linears.push_back(std::move(linear));
        return;
      }
  if (reading != Reading::kFloats) {
    const int64_t columns = linear.weight.columns;
    prepared_.reserve(reading, n, columns);
    add(RowCall{"prepare", n, {{x, n, columns * 4}},
                [this, reading, x, columns](Pool& pool, int64_t first, int64_t count) {
                  table_.prepare(pool, reading, x, first, count, columns, prepared_);
                }});
  }
  calls_.push_back(Products{x, n, reading, {std::move(linear)}});
}

void Program::add(std::string op, std::function<void(Pool&)> run) {
  calls_.push_back(Single{std::move(op), std::move(run)});
}

void Program::add_check(Subject subject, std::function<void()> check) {
  checks_.emplace(subject, std::move(check));
}

void Program::run(Pool& pool, int64_t* times) const {
  for (const auto& [subject, check] : checks_) check();
  pool.watch(times != nullptr);
  for (const Call& call : calls_) {
    const int64_t begin = times ? now() : 0, waited = pool.waited();
    run(call, pool);
    if (!times) continue;
    *times++ = begin;
    *times++ = now();
    *times++ = pool.waited() - waited;
  }
  pool.watch(false);
}

void Program::run(const Call& call, Pool& pool) const {
  if (const auto* chain = std::get_if<Chain>(&call))
    chain->run(pool, alone_);
  else if (const auto* products = std::get_if<Products>(&call))
    run_linears(pool, table_, products->linears, products->reading, products->x, prepared_,
                products->n);
  else
    std::get<Single>(call).run(pool);
}

std::vector<Program::Work> Program::work() const {
  std::vector<Work> all;
  for (const Call& call : calls_) {
    Work work{0, 0};
    if (const auto* products = std::get_if<Products>(&call))
      for (const Linear& each : products->linears) {
        work.first += static_cast<int64_t>(each.weight.bytes);
        work.second += products->n * each.weight.rows * each.weight.columns;
      }
    all.push_back(work);
  }
  return all;
}

std::vector<std::string> Program::names() const {
  std::vector<std::string> names;
  for (const Call& call : calls_) {
    std::string name;
    const auto join = [&](const std::string& part) { name += (name.empty() ? "" : " + ") + part; };
    if (const auto* chain = std::get_if<Chain>(&call))
      for (const RowCall& each : chain->calls) join(each.op);
    else if (const auto* products = std::get_if<Products>(&call))
      for (const Linear& each : products->linears) join("linear " + shape(each.weight));
    else
      name = std::get<Single>(call).op;
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace vilfredo
