// The matrix product: picks the kernel for a packed form and shares its tiles among the threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "linear_codes.h"
#include "linear_dense.h"
#include "quantize.h"

namespace vilfredo {
namespace {

// Columns are taken in blocks whose activations fit beside a tile in a core's own cache.
constexpr int64_t kBlockBytes = 128 * 1024;
// Enough items to even out a disturbed core, few enough that each is a long run of memory.
constexpr int64_t kItemsAThread = 4;

// Calls product(tile, first, last) for every tile and every column block.
template <class Product>
void share_tiles(Pool& pool, const Packed& weight, int64_t n, int64_t column_bytes,
                 const Product& product) {
  const int64_t block = std::clamp<int64_t>(kBlockBytes / column_bytes & ~int64_t{7}, 8, 512);
  const int64_t blocks = (n + block - 1) / block;
  const int64_t tiles = weight.tiles();
  const int64_t most = int64_t{pool.threads()} * kItemsAThread;
  const int64_t size = std::max<int64_t>(1, (tiles + most - 1) / most);
  const int64_t chunks = (tiles + size - 1) / size;
  pool.each(blocks * chunks, [&](int64_t item) {
    const int64_t first = item / chunks * block, last = std::min(first + block, n);
    const int64_t begin = item % chunks * size;
    for (int64_t tile = begin; tile < std::min(begin + size, tiles); ++tile)
      product(tile, first, last);
  });
}

template <class V, Layout L>
void linear_dense(Pool& pool, const float* x, int64_t n, const Packed& weight, const float* bias,
                  float* out) {
  share_tiles(pool, weight, n, weight.columns * 4, DenseProduct<V, L>{weight, x, bias, out});
}

template <class V, Layout L, int Bits, bool Minima, int Scales>
void linear_codes(Pool& pool, const Activations& x, int64_t n, const Packed& weight,
                  const float* bias, float* out) {
  share_tiles(pool, weight, n, weight.columns * 2,
              CodesProduct<V, L, Bits, Minima, Scales>{weight, x, bias, out});
}

template <class V>
void linear(Pool& pool, Activations& scratch, const float* x, int64_t n, const Packed& weight,
            const float* bias, float* out) {
  const Form form = weight.form;
  if (n == 0) return;
  if (form.layout == Layout::kHalf)
    return linear_dense<V, Layout::kHalf>(pool, x, n, weight, bias, out);
  if (form.layout == Layout::kBfloat)
    return linear_dense<V, Layout::kBfloat>(pool, x, n, weight, bias, out);
  if (form.layout == Layout::kFloat)
    return linear_dense<V, Layout::kFloat>(pool, x, n, weight, bias, out);
  quantize<V>(pool, x, n, weight.columns, scratch);
  const auto run = [&](auto kernel) { kernel(pool, scratch, n, weight, bias, out); };
  if (form.layout == Layout::kInt4)
    return form.minima ? run(linear_codes<V, Layout::kInt4, 4, true, 1>)
                       : run(linear_codes<V, Layout::kInt4, 4, false, 1>);
  if (form.bits == 5)
    return form.minima ? run(linear_codes<V, Layout::kInt8, 5, true, 1>)
                       : run(linear_codes<V, Layout::kInt8, 5, false, 1>);
  if (form.bits == 6) return run(linear_codes<V, Layout::kInt8, 6, false, 2>);
  run(linear_codes<V, Layout::kInt8, 8, false, 1>);
}

}  // namespace
}  // namespace vilfredo
