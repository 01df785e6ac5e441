// A table from the kernels over one vocabulary.
#pragma once

#include "../kernels/attention.h"
#include "../kernels/elementwise.h"
#include "../kernels/embed.h"
#include "../kernels/linear.h"
#include "../kernels/norm.h"
#include "../kernels/rope.h"
#include "../kernels/top.h"

namespace vilfredo {
namespace {

template <class V>
constexpr Table make_table(const char* name) {
  return Table{
      .name = name,
      .lanes = V::kLanes,
      .batch_invariant = true,
      .factor_error = 0.0f,
      .embed = embed<V>,
      .rms_norm = rms_norm<V>,
      .reading = reading,
      .prepare = prepare<V>,
      .linear = linear<V>,
      .rope = rope<V>,
      .store = store<V>,
      .attention = attention<V>,
      .gate = gate<V>,
      .add = add<V>,
      .softcap = softcap<V>,
      .top = top<V>,
  };
}

}  // namespace
}  // namespace vilfredo
