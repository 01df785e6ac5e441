// The op table of one instruction set: plain functions over plain pointers.
//
// The meaning of each is that of vilfredo/ops/table.py. Every function takes the pool first.
#pragma once

#include <cstdint>
#include <vector>

#include "packed.h"
#include "pool.h"

namespace vilfredo {

// Activations as integers for the integer kernels, with one scale a group of 32. Eight bits would
// not do: they cost a small model one in twenty of its greedy tokens.
//
// An integer is held as two signed bytes, high * 2^shift + low, so that byte dot products serve.
// The arrays grow to the largest batch seen and are then reused.
struct Activations {
  std::vector<int8_t> high;    // [n][columns]
  std::vector<int8_t> low;     // [n][columns]
  std::vector<float> scales;   // [n][columns / 32]
  std::vector<int32_t> sums;   // [n][columns / 16]: of the integers of half a group

  void reserve(int64_t n, int64_t columns) {
    const auto grow = [](auto& array, int64_t size) {
      if (static_cast<int64_t>(array.size()) < size) array.resize(size);
    };
    grow(high, n * columns);
    grow(low, n * columns);
    grow(scales, n * (columns / kGroup));
    grow(sums, n * (columns / kGroup) * 2);
  }
};

// One of the products of an input: out [n, rows] = x · weightᵀ + bias.
struct Linear {
  Packed weight;
  const float* bias;  // [rows] or nullptr
  float* out;         // [n][rows]
};

// A part of a product: some tiles of the weight times some rows of x.
struct LinearPart {
  const Linear& linear;
  const float* x;             // [n][columns], read by dense weights
  const Activations& codes;   // of x, read by integer weights
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
};

struct Table {
  const char* name;
  int lanes;

  void (*embed)(Pool&, const Packed&, const int32_t* tokens, int64_t n, float scale, float* out);
  void (*rms_norm)(Pool&, const float* x, const float* weight, float eps, int64_t n,
                   int64_t width, float* out);
  // Rows [first, first + n) of x to integers; `out` has been made large enough.
  void (*quantize)(Pool&, const float* x, int64_t first, int64_t n, int64_t columns,
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
