// The matrix product: picks the kernel for a packed form.
#pragma once

#include <cstdint>

#include "linear_codes.h"
#include "linear_dense.h"
#include "quantize.h"

namespace vilfredo {
namespace {

template <class Product>
void each_tile(const LinearPart& part) {
  for (int64_t tile = part.first_tile; tile < part.last_tile; ++tile)
    Product{part}(tile, part.first, part.last);
}

inline Reading reading(const Packed& weight, int64_t) {
  return weight.form.dense() ? Reading::kFloats : Reading::kIntegers;
}

template <class V>
void linear(const LinearPart& part) {
  const Form form = part.linear.weight.form;
  switch (form.layout) {
    case Layout::kHalf:
      return each_tile<DenseProduct<V, Layout::kHalf>>(part);
    case Layout::kBfloat:
      return each_tile<DenseProduct<V, Layout::kBfloat>>(part);
    case Layout::kFloat:
      return each_tile<DenseProduct<V, Layout::kFloat>>(part);
    case Layout::kInt4:
      return form.minima ? each_tile<CodesProduct<V, Layout::kInt4, 4, true, 1>>(part)
                         : each_tile<CodesProduct<V, Layout::kInt4, 4, false, 1>>(part);
    case Layout::kInt5:
      return form.minima ? each_tile<CodesProduct<V, Layout::kInt5, 5, true, 1>>(part)
                         : each_tile<CodesProduct<V, Layout::kInt5, 5, false, 1>>(part);
    case Layout::kInt6:
      return each_tile<CodesProduct<V, Layout::kInt6, 6, false, 2>>(part);
    case Layout::kInt8:
      return each_tile<CodesProduct<V, Layout::kInt8, 8, false, 1>>(part);
  }
}

}  // namespace
}  // namespace vilfredo
