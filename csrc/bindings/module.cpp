// The native tables as a Python module. Only this folder knows Python.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "kernels.h"

using namespace nb::literals;
using ReleaseGil = nb::call_guard<nb::gil_scoped_release>;

NB_MODULE(_cpu, m) {
  using vilfredo::Kernels, vilfredo::Packed, vilfredo::Program;

  m.def("tables", &vilfredo::table_names, "Names of the tables that this machine runs, best first.");

  m.attr("layout_version") = vilfredo::layout_version();

  nb::class_<Packed>(m, "Packed")
      .def_ro("rows", &Packed::rows)
      .def_ro("columns", &Packed::columns)
      .def_ro("gain", &Packed::gain)
      .def_ro("nbytes", &Packed::bytes);

  nb::class_<Program>(m, "Program")
      .def("__len__", &Program::size)
      .def_prop_ro("names", &Program::names, "What each call does.")
      .def_prop_ro("work", &Program::work,
                   "Bytes of weights that each call reads, and multiply-adds that it does.");

  // Arrays are never converted: a copy would take the results in the caller's place.
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<Kernels>(m, "Kernels")
      .def(nb::init<const std::string&, int>(), "name"_a, "threads"_a)
      .def_prop_ro("batch_invariant", &Kernels::batch_invariant)
      .def_prop_ro("factor_error", &Kernels::factor_error)
      .def_prop_ro("layout", &Kernels::layout)
      .def("packed_bytes", &Kernels::packed_bytes, "format"_a, "rows"_a, "columns"_a)
      .def("pack", &Kernels::pack, "format"_a, array("data"), "rows"_a, "columns"_a,
           array("memory").none() = nb::none(), ReleaseGil())
      .def("open", &Kernels::open, "format"_a, "rows"_a, "columns"_a, "gain"_a, array("memory"))
      .def("embed", &Kernels::embed, "table"_a, array("tokens"), "scale"_a, array("out"),
           ReleaseGil())
      .def("rms_norm", &Kernels::rms_norm, array("x"), array("weight"), "eps"_a, array("out"),
           ReleaseGil())
      .def("linear", &Kernels::linear, array("x"), "weight"_a, array("bias").none(), array("out"),
           ReleaseGil())
      .def("rope", &Kernels::rope, array("x"), array("cos"), array("sin"), "interleaved"_a,
           ReleaseGil())
      .def("store", &Kernels::store, array("keys"), array("values"), array("key_cache"),
           array("value_cache"), array("slots"), ReleaseGil())
      .def("attention", &Kernels::attention, array("queries"), array("key_cache"),
           array("value_cache"), array("borders"), array("starts"), array("blocks"), "scale"_a,
           "window"_a, "softcap"_a, array("out"), ReleaseGil())
      .def("gate", &Kernels::gate, "activation"_a, array("gate"), array("up"), array("out"),
           ReleaseGil())
      .def("add", &Kernels::add, array("x"), array("y"), ReleaseGil())
      .def("take", &Kernels::take, array("x"), array("rows"), array("out"), ReleaseGil())
      .def("softcap", &Kernels::softcap, array("x"), "cap"_a, ReleaseGil())
      .def("top", &Kernels::top, array("logits"), array("out_ids"), array("out_values"),
           array("out_logsumexp"), ReleaseGil())
      .def("begin_recording", &Kernels::begin_recording)
      .def("end_recording", &Kernels::end_recording, nb::keep_alive<0, 1>())
      .def("replay", &Kernels::replay, "program"_a, array("times").none() = nb::none(),
           ReleaseGil());
}
