// The native tables as a Python class; the only file that knows Python.
//
// Shapes and indices are checked here, once, so that no kernel can be made to read or write out of
// bounds.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>

#include "pack.h"
#include "table.h"

namespace nb = nanobind;
using namespace nb::literals;

struct Float16 {
  uint16_t bits;
};
template <>
struct nanobind::detail::dtype_traits<Float16> {
  static constexpr dlpack::dtype value{static_cast<uint8_t>(dlpack::dtype_code::Float), 16, 1};
  static constexpr auto name = const_name("float16");
};

namespace vilfredo {
namespace {

template <class T, int Dimensions>
using Array = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <int Dimensions>
using Input = Array<const float, Dimensions>;
template <int Dimensions>
using Output = Array<float, Dimensions>;
using AnyInput = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using AnyOutput = nb::ndarray<float, nb::c_contig, nb::device::cpu>;
using Ints = Array<const int32_t, 1>;

using ReleaseGil = nb::call_guard<nb::gil_scoped_release>;

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

bool all_within(const Ints& values, int64_t limit) {
  return std::all_of(values.data(), values.data() + values.size(),
                     [=](int32_t value) { return 0 <= value && value < limit; });
}

const Table& find_table(const std::string& name) {
  for (const Table* table : available_tables())
    if (name == table->name) return *table;
  throw std::invalid_argument("no table " + name + " on this machine");
}

class Kernels {
 public:
  Kernels(const std::string& name, int threads) : table_(find_table(name)), pool_(threads) {}

  Packed pack(const std::string& format, const Array<const uint8_t, 1>& data, int64_t rows,
              int64_t columns) {
    const int64_t row_bytes = source_row_bytes(format, columns);
    require(row_bytes >= 0, "format: unknown, or columns are not whole blocks of it");
    require(rows >= 0 && static_cast<int64_t>(data.size()) == rows * row_bytes,
            "data: not rows * columns of the format");
    return vilfredo::pack(pool_, format, data.data(), rows, columns, table_.lanes);
  }

  void embed(const Packed& packed, const Ints& tokens, float scale, const Output<2>& out) {
    require(packed.lanes == table_.lanes, "table: packed for another instruction set");
    require(all_within(tokens, packed.rows), "tokens: outside the table");
    require(out.shape(0) == tokens.size() && same(out.shape(1), packed.columns), "out: shape");
    table_.embed(pool_, packed, tokens.data(), rows(tokens), scale, out.data());
  }

  void rms_norm(const Input<2>& x, const Input<1>& weight, float eps, const Output<2>& out) {
    require(x.shape(1) == weight.size(), "weight: width");
    require(out.shape(0) == x.shape(0) && out.shape(1) == x.shape(1), "out: shape");
    table_.rms_norm(pool_, x.data(), weight.data(), eps, rows(x), x.shape(1), out.data());
  }

  void linear(const Input<2>& x, const Packed& weight, const std::optional<Input<1>>& bias,
              const Output<2>& out) {
    require(weight.lanes == table_.lanes, "weight: packed for another instruction set");
    require(same(x.shape(1), weight.columns), "x: width is not the weight's columns");
    require(!bias || same(bias->size(), weight.rows), "bias: size is not the weight's rows");
    require(out.shape(0) == x.shape(0) && same(out.shape(1), weight.rows), "out: shape");
    table_.linear(pool_, activations_, x.data(), rows(x), weight, bias ? bias->data() : nullptr,
                  out.data());
  }

  void rope(const Output<3>& x, const Input<2>& cos, const Input<2>& sin, bool interleaved) {
    require(x.shape(2) % 2 == 0, "x: head_dim is odd");
    for (const Input<2>* angles : {&cos, &sin})
      require(angles->shape(0) == x.shape(0) && angles->shape(1) * 2 == x.shape(2),
              "cos, sin: shape is not [n, head_dim / 2]");
    table_.rope(pool_, x.data(), cos.data(), sin.data(), rows(x), x.shape(1), x.shape(2),
                interleaved);
  }

  void store(const Input<3>& keys, const Input<3>& values, const Array<Float16, 4>& key_cache,
             const Array<Float16, 4>& value_cache, const Ints& slots) {
    const CacheShape shape = cache_shape(key_cache, value_cache);
    for (const Input<3>* input : {&keys, &values})
      require(input->shape(0) == slots.size() && same(input->shape(1), shape.kv_heads) &&
                  same(input->shape(2), shape.head_dim),
              "keys, values: shape is not [n, kv_heads, head_dim]");
    require(all_within(slots, key_cache.shape(0) * shape.block_tokens), "slots: outside the cache");
    table_.store(pool_, keys.data(), values.data(), slots.data(), rows(slots), shape,
                 bits(key_cache), bits(value_cache));
  }

  void attention(const Input<3>& queries, const Array<Float16, 4>& key_cache,
                 const Array<Float16, 4>& value_cache, const Ints& borders, const Ints& starts,
                 const Array<const int32_t, 2>& blocks, float scale, int64_t window, float softcap,
                 const Output<3>& out) {
    const CacheShape shape = cache_shape(key_cache, value_cache);
    const int64_t spans = rows(starts), width = blocks.shape(1);
    require(queries.shape(1) % shape.kv_heads == 0, "queries: heads do not divide by kv_heads");
    require(same(queries.shape(2), shape.head_dim), "queries: head_dim");
    require(same(borders.size(), spans + 1) && same(blocks.shape(0), spans), "batch: spans");
    for (int i = 0; i < 3; ++i) require(out.shape(i) == queries.shape(i), "out: shape");
    require(spans == 0 || borders.data()[0] == 0, "borders: do not begin with 0");
    require(spans == 0 || same(queries.shape(0), borders.data()[spans]), "borders: rows");
    for (int64_t span = 0; span < spans; ++span) {
      const int64_t count = borders.data()[span + 1] - borders.data()[span];
      const int64_t start = starts.data()[span];
      require(count >= 0 && start >= 0, "borders, starts: negative");
      const int64_t used = (start + count + shape.block_tokens - 1) / shape.block_tokens;
      require(used <= width, "blocks: too few for a span");
      for (int64_t i = 0; i < used; ++i) {
        const int32_t block = blocks.data()[span * width + i];
        require(0 <= block && same(std::max<size_t>(block + 1, key_cache.shape(0)),
                                   key_cache.shape(0)),
                "blocks: outside the cache");
      }
    }
    table_.attention(pool_, AttentionCall{.queries = queries.data(),
                                          .keys = bits(key_cache),
                                          .values = bits(value_cache),
                                          .cache = shape,
                                          .heads = static_cast<int64_t>(queries.shape(1)),
                                          .borders = borders.data(),
                                          .starts = starts.data(),
                                          .blocks = blocks.data(),
                                          .spans = spans,
                                          .table_width = width,
                                          .scale = scale,
                                          .window = window,
                                          .softcap = softcap,
                                          .out = out.data()});
  }

  void gate(const std::string& activation, const AnyInput& gate, const AnyInput& up,
            const AnyOutput& out) {
    require(gate.size() == up.size() && gate.size() == out.size(), "gate, up, out: sizes");
    require(activation == "silu" || activation == "gelu_tanh", "activation: unknown");
    table_.gate(pool_, activation == "silu" ? Gate::kSilu : Gate::kGeluTanh, gate.data(),
                up.data(), static_cast<int64_t>(gate.size()), out.data());
  }

  void add(const AnyOutput& x, const AnyInput& y) {
    require(x.size() == y.size(), "x, y: sizes");
    table_.add(pool_, x.data(), y.data(), static_cast<int64_t>(x.size()));
  }

  void top(const Input<2>& logits, const Array<int32_t, 2>& out_ids, const Output<2>& out_values,
           const Output<1>& out_logsumexp) {
    const int64_t k = out_ids.shape(1);
    require(1 <= k && k <= static_cast<int64_t>(logits.shape(1)), "out_ids: k");
    require(same(out_values.shape(1), k), "out_values: k");
    require(out_ids.shape(0) == logits.shape(0) && out_values.shape(0) == logits.shape(0) &&
                out_logsumexp.size() == logits.shape(0),
            "out_ids, out_values, out_logsumexp: rows");
    table_.top(pool_, logits.data(), rows(logits), logits.shape(1), k, out_ids.data(),
               out_values.data(), out_logsumexp.data());
  }

 private:
  template <class A>
  static int64_t rows(const A& array) {
    return static_cast<int64_t>(array.shape(0));
  }
  static bool same(size_t a, int64_t b) { return static_cast<int64_t>(a) == b; }
  static uint16_t* bits(const Array<Float16, 4>& cache) {
    return reinterpret_cast<uint16_t*>(cache.data());
  }

  CacheShape cache_shape(const Array<Float16, 4>& keys, const Array<Float16, 4>& values) const {
    require(keys.shape(0) == values.shape(0) && keys.shape(1) == values.shape(1) &&
                keys.shape(2) == values.shape(3) && keys.shape(3) == values.shape(2),
            "cache: keys and values have different shapes");
    const CacheShape shape{static_cast<int64_t>(keys.shape(1)), static_cast<int64_t>(keys.shape(3)),
                           static_cast<int64_t>(keys.shape(2))};
    require(shape.block_tokens % table_.lanes == 0 && shape.block_tokens <= 128,
            "cache: block_tokens is not a multiple of the table's lanes, or over 128");
    require(shape.head_dim % table_.lanes == 0 && shape.head_dim <= 512,
            "cache: head_dim is not a multiple of the table's lanes, or over 512");
    return shape;
  }

  const Table& table_;
  Pool pool_;
  Activations activations_;
};

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const Table* table : available_tables()) names.emplace_back(table->name);
  return names;
}

}  // namespace
}  // namespace vilfredo

NB_MODULE(_cpu, m) {
  using namespace vilfredo;

  m.def("tables", &table_names, "Names of the tables that this machine runs, best first.");

  nb::class_<Packed>(m, "Packed")
      .def_ro("rows", &Packed::rows)
      .def_ro("columns", &Packed::columns)
      .def_ro("nbytes", &Packed::bytes);

  // Arrays are never converted: a copy would take the results in the caller's place.
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<vilfredo::Kernels>(m, "Kernels")
      .def(nb::init<const std::string&, int>(), "name"_a, "threads"_a)
      .def("pack", &vilfredo::Kernels::pack, "format"_a, array("data"), "rows"_a, "columns"_a,
           ReleaseGil())
      .def("embed", &vilfredo::Kernels::embed, "table"_a, array("tokens"), "scale"_a, array("out"),
           ReleaseGil())
      .def("rms_norm", &vilfredo::Kernels::rms_norm, array("x"), array("weight"), "eps"_a,
           array("out"), ReleaseGil())
      .def("linear", &vilfredo::Kernels::linear, array("x"), "weight"_a, array("bias").none(),
           array("out"), ReleaseGil())
      .def("rope", &vilfredo::Kernels::rope, array("x"), array("cos"), array("sin"),
           "interleaved"_a, ReleaseGil())
      .def("store", &vilfredo::Kernels::store, array("keys"), array("values"), array("key_cache"),
           array("value_cache"), array("slots"), ReleaseGil())
      .def("attention", &vilfredo::Kernels::attention, array("queries"), array("key_cache"),
           array("value_cache"), array("borders"), array("starts"), array("blocks"), "scale"_a,
           "window"_a, "softcap"_a, array("out"), ReleaseGil())
      .def("gate", &vilfredo::Kernels::gate, "activation"_a, array("gate"), array("up"),
           array("out"), ReleaseGil())
      .def("add", &vilfredo::Kernels::add, array("x"), array("y"), ReleaseGil())
      .def("top", &vilfredo::Kernels::top, array("logits"), array("out_ids"), array("out_values"),
           array("out_logsumexp"), ReleaseGil());
}
