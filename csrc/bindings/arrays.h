// Arrays as Python gives them, and the checks that stand between them and the kernels.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace nb = nanobind;

struct Float16 {
  uint16_t bits;
};
template <>
struct nanobind::detail::dtype_traits<Float16> {
  static constexpr dlpack::dtype value{static_cast<uint8_t>(dlpack::dtype_code::Float), 16, 1};
  static constexpr auto name = const_name("float16");
};

namespace vilfredo {

template <class T, int Dimensions>
using Array = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <int Dimensions>
using Input = Array<const float, Dimensions>;
template <int Dimensions>
using Output = Array<float, Dimensions>;
using AnyInput = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using AnyOutput = nb::ndarray<float, nb::c_contig, nb::device::cpu>;
using Ints = Array<const int32_t, 1>;
using Bytes = Array<const uint8_t, 1>;
using Halves = Array<Float16, 4>;

inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

inline bool all_within(const Ints& values, int64_t limit) {
  return std::all_of(values.data(), values.data() + values.size(),
                     [=](int32_t value) { return 0 <= value && value < limit; });
}

template <class A>
int64_t extent(const A& array, int dimension) {
  return static_cast<int64_t>(array.shape(dimension));
}

}  // namespace vilfredo
