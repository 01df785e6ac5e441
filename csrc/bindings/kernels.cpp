#include "kernels.h"

#include "../linear.h"

namespace vilfredo {
namespace {

const Table& find_table(const std::string& name) {
  for (const Table* table : available_tables())
    if (name == table->name) return *table;
  throw std::invalid_argument("no table " + name + " on this machine");
}

bool same(size_t a, int64_t b) { return static_cast<int64_t>(a) == b; }

// Rows of an array's first dimension.
template <class A>
int64_t rows(const A& array) {
  return extent(array, 0);
}

template <class A>
Region region(const A& array) {
  const int64_t count = rows(array);
  const auto bytes = static_cast<int64_t>(array.nbytes());
  return {array.data(), count, count ? bytes / count : 0};
}

// Every span's rows must lie within the batch and its blocks within the cache.
void check_spans(const Ints& borders, const Ints& starts, const Array<const int32_t, 2>& blocks,
                 int64_t count, int64_t cache_blocks, int64_t block_tokens) {
  const int64_t spans = rows(starts), width = extent(blocks, 1);
  require(spans == 0 || borders.data()[0] == 0, "borders: do not begin with 0");
  require(spans == 0 || borders.data()[spans] == count, "borders: rows");
  for (int64_t span = 0; span < spans; ++span) {
    const int64_t rows = borders.data()[span + 1] - borders.data()[span];
    const int64_t start = starts.data()[span];
    require(rows >= 0 && start >= 0, "borders, starts: negative");
    const int64_t used = (start + rows + block_tokens - 1) / block_tokens;
    require(used <= width, "blocks: too few for a span");
    const int32_t* table = blocks.data() + span * width;
    require(std::all_of(table, table + used,
                        [=](int32_t block) { return 0 <= block && block < cache_blocks; }),
            "blocks: outside the cache");
  }
}

uint16_t* bits(const Halves& cache) { return reinterpret_cast<uint16_t*>(cache.data()); }

}  // namespace

Kernels::Kernels(const std::string& name, int threads) : table_(find_table(name)), pool_(threads) {}

void Kernels::begin_recording() {
  require(!recording_, "a recording has begun already");
  recording_ = std::make_unique<Program>(table_, prepared_);
}

std::unique_ptr<Program> Kernels::end_recording() {
  require(recording_ != nullptr, "no recording has begun");
  return std::move(recording_);
}

void Kernels::replay(const Program& program, std::optional<Array<int64_t, 2>> times) {
  if (times)
    require(times->shape(0) == program.size() && times->shape(1) == 3, "times: not [calls, 3]");
  program.run(pool_, times ? times->data() : nullptr);
}

void Kernels::row_call(const char* op, int64_t rows, std::vector<Region> regions,
                       std::function<void(Pool&, int64_t, int64_t)> run) {
  if (recording_)
    recording_->add(RowCall{op, rows, std::move(regions), std::move(run)});
  else
    run(pool_, 0, rows);
}

void Kernels::single(const char* op, std::function<void(Pool&)> run) {
  if (recording_)
    recording_->add(op, std::move(run));
  else
    run(pool_);
}

void Kernels::check(Program::Subject subject, std::function<void()> check) {
  if (recording_)
    recording_->add_check(subject, std::move(check));
  else
    check();
}

void Kernels::embed(const Packed& packed, const Ints& tokens, float scale, const Output<2>& out) {
  require(packed.lanes == table_.lanes, "table: packed for another instruction set");
  require(out.shape(0) == tokens.size() && same(out.shape(1), packed.columns), "out: shape");
  check({tokens.data(), packed.data.get(), rows(tokens)}, [tokens, limit = packed.rows] {
    require(all_within(tokens, limit), "tokens: outside the table");
  });
  row_call("embed", rows(out), {region(out), region(tokens)},
           [=, this](Pool& pool, int64_t first, int64_t count) {
             table_.embed(pool, packed, tokens.data() + first, count, scale,
                          out.data() + first * packed.columns);
           });
}

void Kernels::rms_norm(const Input<2>& x, const Input<1>& weight, float eps, const Output<2>& out) {
  require(x.shape(1) == weight.size(), "weight: width");
  require(out.shape(0) == x.shape(0) && out.shape(1) == x.shape(1), "out: shape");
  row_call("rms_norm", rows(x), {region(x), region(out)},
           [=, this](Pool& pool, int64_t first, int64_t count) {
             const int64_t width = extent(x, 1);
             table_.rms_norm(pool, x.data() + first * width, weight.data(), eps, count, width,
                             out.data() + first * width);
           });
}

void Kernels::linear(const Input<2>& x, const Packed& weight, const std::optional<Input<1>>& bias,
                     const Output<2>& out) {
  require(weight.lanes == table_.lanes, "weight: packed for another instruction set");
  require(same(x.shape(1), weight.columns), "x: width is not the weight's columns");
  require(!bias || same(bias->size(), weight.rows), "bias: size is not the weight's rows");
  require(out.shape(0) == x.shape(0) && same(out.shape(1), weight.rows), "out: shape");
  Linear linear{weight, bias ? bias->data() : nullptr, out.data()};
  if (recording_) {
    recording_->keep([x, bias, out] {});
    recording_->add(x.data(), rows(x), std::move(linear));
    return;
  }
  const Reading reading = table_.reading(weight, rows(x));
  prepared_.reserve(reading, rows(x), weight.columns);
  if (reading != Reading::kFloats)
    table_.prepare(pool_, reading, x.data(), 0, rows(x), weight.columns, prepared_);
  run_linears(pool_, table_, {&linear, 1}, reading, x.data(), prepared_, rows(x));
}

void Kernels::rope(const Output<3>& x, const Input<2>& cos, const Input<2>& sin, bool interleaved) {
  require(x.shape(2) % 2 == 0, "x: head_dim is odd");
  for (const Input<2>* angles : {&cos, &sin})
    require(angles->shape(0) == x.shape(0) && angles->shape(1) * 2 == x.shape(2),
            "cos, sin: shape is not [n, head_dim / 2]");
  row_call("rope", rows(x), {region(x), region(cos), region(sin)},
           [=, this](Pool& pool, int64_t first, int64_t count) {
             const int64_t heads = extent(x, 1), dim = extent(x, 2);
             table_.rope(pool, x.data() + first * heads * dim, cos.data() + first * (dim / 2),
                         sin.data() + first * (dim / 2), count, heads, dim, interleaved);
           });
}

void Kernels::store(const Input<3>& keys, const Input<3>& values, const Halves& key_cache,
                    const Halves& value_cache, const Ints& slots) {
  const CacheShape shape = cache_shape(key_cache, value_cache);
  for (const Input<3>* input : {&keys, &values})
    require(input->shape(0) == slots.size() && same(input->shape(1), shape.kv_heads) &&
                same(input->shape(2), shape.head_dim),
            "keys, values: shape is not [n, kv_heads, head_dim]");
  const int64_t limit = extent(key_cache, 0) * shape.block_tokens;
  check({slots.data(), nullptr, limit},
        [=] { require(all_within(slots, limit), "slots: outside the cache"); });
  row_call("store", rows(keys), {region(keys), region(values), region(slots)},
           [=, this](Pool& pool, int64_t first, int64_t count) {
             const int64_t width = shape.kv_heads * shape.head_dim;
             table_.store(pool, keys.data() + first * width, values.data() + first * width,
                          slots.data() + first, count, shape, bits(key_cache), bits(value_cache));
           });
}

void Kernels::attention(const Input<3>& queries, const Halves& key_cache, const Halves& value_cache,
                        const Ints& borders, const Ints& starts,
                        const Array<const int32_t, 2>& blocks, float scale, int64_t window,
                        float softcap, const Output<3>& out) {
  const CacheShape shape = cache_shape(key_cache, value_cache);
  const int64_t spans = rows(starts), count = rows(queries);
  require(queries.shape(1) % shape.kv_heads == 0, "queries: heads do not divide by kv_heads");
  require(same(queries.shape(2), shape.head_dim), "queries: head_dim");
  require(same(borders.size(), spans + 1) && same(blocks.shape(0), spans), "batch: spans");
  for (int i = 0; i < 3; ++i) require(out.shape(i) == queries.shape(i), "out: shape");
  check({borders.data(), blocks.data(), extent(key_cache, 0) * shape.block_tokens},
        [=, limit = extent(key_cache, 0), tokens = shape.block_tokens] {
          check_spans(borders, starts, blocks, count, limit, tokens);
        });
  single("attention", [=, this](Pool& pool) {
    table_.attention(pool, AttentionCall{.queries = queries.data(),
                                         .keys = bits(key_cache),
                                         .values = bits(value_cache),
                                         .cache = shape,
                                         .heads = extent(queries, 1),
                                         .borders = borders.data(),
                                         .starts = starts.data(),
                                         .blocks = blocks.data(),
                                         .spans = spans,
                                         .table_width = extent(blocks, 1),
                                         .scale = scale,
                                         .window = window,
                                         .softcap = softcap,
                                         .out = out.data(),
                                         .scratch = &scratch_});
  });
}

void Kernels::gate(const std::string& activation, const Input<2>& gate, const Input<2>& up,
                   const Output<2>& out) {
  require(gate.shape(0) == up.shape(0) && gate.shape(1) == up.shape(1), "gate, up: shapes");
  require(gate.shape(0) == out.shape(0) && gate.shape(1) == out.shape(1), "gate, out: shapes");
  require(activation == "silu" || activation == "gelu_tanh", "activation: unknown");
  const Gate kind = activation == "silu" ? Gate::kSilu : Gate::kGeluTanh;
  row_call(kind == Gate::kSilu ? "silu" : "gelu_tanh", rows(gate),
           {region(gate), region(up), region(out)},
           [=, this](Pool& pool, int64_t first, int64_t count) {
             const int64_t width = extent(gate, 1), begin = first * width;
             table_.gate(pool, kind, gate.data() + begin, up.data() + begin, count * width,
                         out.data() + begin);
           });
}

void Kernels::add(const Output<2>& x, const Input<2>& y) {
  require(x.shape(0) == y.shape(0) && x.shape(1) == y.shape(1), "x, y: shapes");
  row_call("add", rows(x), {region(x), region(y)},
           [=, this](Pool& pool, int64_t first, int64_t count) {
             const int64_t width = extent(x, 1);
             table_.add(pool, x.data() + first * width, y.data() + first * width, count * width);
           });
}

void Kernels::take(const Input<2>& x, const Ints& rows, const Output<2>& out) {
  require(out.shape(0) == rows.size() && out.shape(1) == x.shape(1), "out: shape");
  check({rows.data(), x.data(), extent(x, 0)},
        [=] { require(all_within(rows, extent(x, 0)), "rows: outside x"); });
  single("take", [=](Pool&) {
    const int64_t width = extent(x, 1);
    for (int64_t i = 0; i < extent(rows, 0); ++i)
      std::copy_n(x.data() + rows.data()[i] * width, width, out.data() + i * width);
  });
}

void Kernels::softcap(const Output<2>& x, float cap) {
  require(cap > 0, "cap: not positive");
  row_call("softcap", rows(x), {region(x)}, [=, this](Pool& pool, int64_t first, int64_t count) {
    const int64_t width = extent(x, 1);
    table_.softcap(pool, x.data() + first * width, cap, count * width);
  });
}

void Kernels::top(const Input<2>& logits, const Array<int32_t, 2>& out_ids,
                  const Output<2>& out_values, const Output<1>& out_logsumexp) {
  const int64_t k = extent(out_ids, 1);
  require(1 <= k && k <= extent(logits, 1), "out_ids: k");
  require(same(out_values.shape(1), k), "out_values: k");
  require(out_ids.shape(0) == logits.shape(0) && out_values.shape(0) == logits.shape(0) &&
              out_logsumexp.size() == logits.shape(0),
          "out_ids, out_values, out_logsumexp: rows");
  row_call("top", rows(logits),
           {region(logits), region(out_ids), region(out_values), region(out_logsumexp)},
           [=, this](Pool& pool, int64_t first, int64_t count) {
             const int64_t vocabulary = extent(logits, 1);
             table_.top(pool, logits.data() + first * vocabulary, count, vocabulary, k,
                        out_ids.data() + first * k, out_values.data() + first * k,
                        out_logsumexp.data() + first);
           });
}

CacheShape Kernels::cache_shape(const Halves& keys, const Halves& values) const {
  require(keys.shape(0) == values.shape(0) && keys.shape(1) == values.shape(1) &&
              keys.shape(2) == values.shape(3) && keys.shape(3) == values.shape(2),
          "cache: keys and values have different shapes");
  const CacheShape shape{extent(keys, 1), extent(keys, 3), extent(keys, 2)};
  require(shape.block_tokens % table_.lanes == 0 && shape.block_tokens <= 128,
          "cache: block_tokens is not a multiple of the table's lanes, or over 128");
  require(shape.head_dim % table_.lanes == 0 && shape.head_dim <= 512,
          "cache: head_dim is not a multiple of the table's lanes, or over 512");
  return shape;
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const Table* table : available_tables()) names.emplace_back(table->name);
  return names;
}

}  // namespace vilfredo
