// The block formats of GGUF checkpoints, read a group of 32 columns at a time.
//
// Every format comes down to weight = scale * (code - offset) + minimum with codes of 4 to 8 bits,
// so nothing is lost beyond the rounding of a product of two scales to float16.
#pragma once

#include <cstdint>
#include <cstring>

#include "half.h"
#include "packed.h"

namespace vilfredo {
namespace {

struct Group {
  uint8_t codes[kGroup];
  float scales[2];
  float minimum;
};

struct Format {
  const char* name;
  int64_t block;        // columns
  int64_t block_bytes;
  Form form;
  void (*read)(const uint8_t* block, int64_t part, Group&);  // part: which 32 of the block
};

inline float half_at(const uint8_t* p) {
  uint16_t half;
  std::memcpy(&half, p, 2);
  return half_to_float(half);
}

// Nibbles of 16 bytes: low ones are columns 0 to 15, high ones 16 to 31.
inline void read_nibbles(const uint8_t* p, uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = p[i] & 15;
    codes[16 + i] = p[i] >> 4;
  }
}

// A fifth bit for each of 32 codes.
inline void add_fifth_bits(const uint8_t* p, uint8_t* codes) {
  uint32_t bits;
  std::memcpy(&bits, p, 4);
  for (int i = 0; i < 32; ++i) codes[i] |= static_cast<uint8_t>((bits >> i & 1) << 4);
}

inline void read_q4_0(const uint8_t* p, int64_t, Group& group) {
  group.scales[0] = half_at(p);
  read_nibbles(p + 2, group.codes);
}

inline void read_q4_1(const uint8_t* p, int64_t, Group& group) {
  group.scales[0] = half_at(p);
  group.minimum = half_at(p + 2);
  read_nibbles(p + 4, group.codes);
}

inline void read_q5_0(const uint8_t* p, int64_t, Group& group) {
  group.scales[0] = half_at(p);
  read_nibbles(p + 6, group.codes);
  add_fifth_bits(p + 2, group.codes);
}

inline void read_q5_1(const uint8_t* p, int64_t, Group& group) {
  group.scales[0] = half_at(p);
  group.minimum = half_at(p + 2);
  read_nibbles(p + 8, group.codes);
  add_fifth_bits(p + 4, group.codes);
}

inline void read_q8_0(const uint8_t* p, int64_t, Group& group) {
  group.scales[0] = half_at(p);
  for (int i = 0; i < 32; ++i) group.codes[i] = static_cast<uint8_t>(p[2 + i] ^ 0x80);
}

// Q4_K and Q5_K: a block of 256 has 8 groups with 6-bit scales and minima in 12 bytes. The first
// four lie in the low six bits of bytes 0 to 3 and 4 to 7; the last four have their low nibbles in
// bytes 8 to 11 and their high two bits on top of the first eight bytes.
inline void read_k_scales(const uint8_t* p, int64_t part, Group& group) {
  const uint8_t* packed = p + 4;
  uint8_t scale, minimum;
  if (part < 4) {
    scale = packed[part] & 63;
    minimum = packed[part + 4] & 63;
  } else {
    scale = static_cast<uint8_t>((packed[part + 4] & 15) | (packed[part - 4] >> 6) << 4);
    minimum = static_cast<uint8_t>((packed[part + 4] >> 4) | (packed[part] >> 6) << 4);
  }
  group.scales[0] = half_at(p) * static_cast<float>(scale);
  group.minimum = -half_at(p + 2) * static_cast<float>(minimum);
}

// Groups 2i and 2i + 1 share 32 bytes: low nibbles and high nibbles.
inline void read_paired_nibbles(const uint8_t* p, int64_t part, uint8_t* codes) {
  const uint8_t* bytes = p + part / 2 * 32;
  for (int i = 0; i < 32; ++i) codes[i] = part % 2 ? bytes[i] >> 4 : bytes[i] & 15;
}

inline void read_q4_k(const uint8_t* p, int64_t part, Group& group) {
  read_k_scales(p, part, group);
  read_paired_nibbles(p + 16, part, group.codes);
}

// The fifth bits of group g are bit g of 32 bytes.
inline void read_q5_k(const uint8_t* p, int64_t part, Group& group) {
  read_k_scales(p, part, group);
  read_paired_nibbles(p + 48, part, group.codes);
  for (int i = 0; i < 32; ++i)
    group.codes[i] |= static_cast<uint8_t>((p[16 + i] >> part & 1) << 4);
}

// Q6_K: 256 columns in two halves of 128, each of four groups. Groups 0 and 2 of a half lie in the
// low and high nibbles of its first 32 bytes, groups 1 and 3 in those of the next 32; the top two
// bits of all four share 32 bytes. A signed scale for every 16 columns.
inline void read_q6_k(const uint8_t* p, int64_t part, Group& group) {
  const int64_t half = part / 4, place = part % 4;
  const uint8_t* low = p + half * 64 + place % 2 * 32;
  const uint8_t* high = p + 128 + half * 32;
  for (int i = 0; i < 32; ++i) {
    const int nibble = place < 2 ? low[i] & 15 : low[i] >> 4;
    group.codes[i] = static_cast<uint8_t>(nibble | (high[i] >> (2 * place) & 3) << 4);
  }
  const float scale = half_at(p + 208);
  for (int i = 0; i < 2; ++i)
    group.scales[i] = scale * static_cast<float>(static_cast<int8_t>(p[192 + part * 2 + i]));
}

constexpr Format kFormats[] = {
    {"Q4_0", 32, 18, {Layout::kInt4, 4, false, 1}, read_q4_0},
    {"Q4_1", 32, 20, {Layout::kInt4, 4, true, 1}, read_q4_1},
    {"Q5_0", 32, 22, {Layout::kInt5, 5, false, 1}, read_q5_0},
    {"Q5_1", 32, 24, {Layout::kInt5, 5, true, 1}, read_q5_1},
    {"Q8_0", 32, 34, {Layout::kInt8, 8, false, 1}, read_q8_0},
    {"Q4_K", 256, 144, {Layout::kInt4, 4, true, 1}, read_q4_k},
    {"Q5_K", 256, 176, {Layout::kInt5, 5, true, 1}, read_q5_k},
    {"Q6_K", 256, 210, {Layout::kInt6, 6, false, 2}, read_q6_k},
    {"F16", 1, 2, {Layout::kHalf}, nullptr},
    {"BF16", 1, 2, {Layout::kBfloat}, nullptr},
    {"F32", 1, 4, {Layout::kFloat}, nullptr},
};

}  // namespace
}  // namespace vilfredo
