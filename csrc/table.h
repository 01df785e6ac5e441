// The op table of one instruction set: plain functions over plain pointers.
//
// The meaning of each is that of vilfredo/ops/table.py. Every function takes the pool first.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer.h"
#include "packed.h"
#include "pool.h"

namespace vilfredo {

// How a product reads its input.
enum class Reading {
  kFloats,    // as it is
  kIntegers,  // two bytes each: the integer kernels
  kTiles,     // bfloat16 in blocks of 16 rows and 32 columns: the matrix unit
};

// The input of a product as its kernels read it. The arrays grow to the largest batch seen and are
// then reused.
struct Activations {
  // Integers with one scale a group of 32, as two signed bytes, 256 * high + low, so that byte dot
  // products serve. Eight bits would not do: they cost a small model one in twenty of its greedy
  // tokens.
  Buffer<int8_t> high;     // [n][columns]
  Buffer<int8_t> low;      // [n][columns]
  Buffer<float> scales;    // [n][columns / 32]
  Buffer<int32_t> sums;    // [n][columns / 16]: of the integers of half a group
  Buffer<float> weighted;  // [n][columns / 32]: a group's scale times its sum
  Buffer<uint16_t> tiles;  // [n / 16, rounded up][columns / 32][16][32] bfloat16

  void reserve(Reading reading, int64_t n, int64_t columns) {
    if (reading == Reading::kIntegers) {
      n = (n + 15) / 16 * 16;  // some kernels read rows that are no one's
      high.reserve(n * columns);
      low.reserve(n * columns);
      scales.reserve(n * (columns / kGroup));
      sums.reserve(n * (columns / kGroup) * 2);
      weighted.reserve(n * (columns / kGroup));
    } else if (reading == Reading::kTiles) {
      tiles.reserve((n + 15) / 16 * 16 * columns);
    }
  }
};

// One of the products of an input: out [n, rows] = x · weightᵀ + bias.
struct Linear {
  Packed weight;
  const float* bias;  // [rows] or nullptr
  float* out;         // [n][rows]
};

// What a part may span at most where x is read as tiles: the matrix kernels keep sums for it.
constexpr int64_t kMostTiles = 16;
constexpr int64_t kMostTileRows = 512;

// A part of a product: some tiles of the weight times some rows of x.
struct LinearPart {
  const Linear& linear;
  Reading reading;
  const float* x;                // [n][columns]
  const Activations& prepared;   // x, unless it is read as floats
  int64_t first_tile, last_tile, first, last;
};

enum class Gate { kSilu, kGeluTanh };

struct CacheShape {
  int64_t kv_heads, block_tokens, head_dim;
};

struct AttentionCall {
  const float* queries;    // [n][heads][head_dim]
  const uint16_t* keys;    // [blocks][kv_heads][head_dim][block_tokens], float16
  const uint16_t* values;  // [blocks][kv_heads][block_tokens][head_dim], float16
  CacheShape cache;
  int64_t heads;
  const int32_t* borders;  // [spans + 1]
  const int32_t* starts;   // [spans]
  const int32_t* blocks;   // [spans][table_width]
  int64_t spans, table_width;
  float scale;
  int64_t window;
  float softcap;
  float* out;  // [n][heads][head_dim]
  Buffer<float>* scratch;
};

struct Table {
  const char* name;
  int lanes;
  // Whether a row's result is the same to the last bit whatever is computed beside it.
  bool batch_invariant;
  // The largest relative error that a product may round each of its factors by.
  float factor_error;

  void (*embed)(Pool&, const Packed&, const int32_t* tokens, int64_t n, float scale, float* out);
  void (*rms_norm)(Pool&, const float* x, const float* weight, float eps, int64_t n,
                   int64_t width, float* out);
  // How products of n rows with a weight of this form read their input.
  Reading (*reading)(const Packed&, int64_t n);
  // Rows [first, first + n) of x for such products; `out` has been made large enough.
  void (*prepare)(Pool&, Reading, const float* x, int64_t first, int64_t n, int64_t columns,
                  Activations& out);
  void (*linear)(const LinearPart&);
  void (*rope)(Pool&, float* x, const float* cos, const float* sin, int64_t n, int64_t heads,
               int64_t head_dim, bool interleaved);
  void (*store)(Pool&, const float* keys, const float* values, const int32_t* slots, int64_t n,
                CacheShape, uint16_t* key_cache, uint16_t* value_cache);
  void (*attention)(Pool&, const AttentionCall&);
  void (*gate)(Pool&, Gate, const float* gate, const float* up, int64_t size, float* out);
  void (*add)(Pool&, float* x, const float* y, int64_t size);
  void (*softcap)(Pool&, float* x, float cap, int64_t size);
  void (*top)(Pool&, const float* logits, int64_t n, int64_t vocabulary, int64_t k,
              int32_t* out_ids, float* out_values, float* out_logsumexp);
};

// The tables that this build holds and this machine can run, best first.
std::vector<const Table*> available_tables();

}  // namespace vilfredo
