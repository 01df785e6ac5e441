// The SIMD vocabulary in plain C++: a vector is an array of 8 lanes. It is the fallback for any
// machine and the oracle that shows whether a fault lies in an algorithm or in an instruction set.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "../half.h"

namespace vilfredo {
namespace {

struct Scalar {
  static constexpr int kLanes = 8;
  static constexpr int kColumns = 2;  // columns of a product that share one unpacking of weights
  static constexpr int kQueries = 4;  // of attention that share a pass over the keys

  template <class T>
  struct Lanes {
    T lane[kLanes];
  };
  template <class R, class Operation>
  static Lanes<R> each(Operation operation) {
    Lanes<R> result;
    for (int i = 0; i < kLanes; ++i) result.lane[i] = operation(i);
    return result;
  }

  // float32
  using F = Lanes<float>;
  static F zero() { return set(0.0f); }
  static F set(float x) {
    return each<float>([=](int) { return x; });
  }
  static F load(const float* p) {
    return each<float>([=](int i) { return p[i]; });
  }
  static void store(float* p, const F& x) { std::memcpy(p, x.lane, sizeof x.lane); }
  static F add(const F& a, const F& b) {
    return each<float>([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static F sub(const F& a, const F& b) {
    return each<float>([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  static F mul(const F& a, const F& b) {
    return each<float>([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static F div(const F& a, const F& b) {
    return each<float>([&](int i) { return a.lane[i] / b.lane[i]; });
  }
  static F fma(const F& a, const F& b, const F& c) {
    return each<float>([&](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
  }
  static F max(const F& a, const F& b) {  // b where either is NaN
    return each<float>([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static F min(const F& a, const F& b) {  // b where either is NaN
    return each<float>([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static F abs(const F& a) {
    return each<float>([&](int i) { return std::fabs(a.lane[i]); });
  }
  static F round(const F& a) {
    return each<float>([&](int i) { return std::nearbyint(a.lane[i]); });
  }
  static float sum(const F& a) {
    float total = 0.0f;
    for (float lane : a.lane) total += lane;
    return total;
  }
  static float largest(const F& a) {
    float best = a.lane[0];
    for (float lane : a.lane) best = lane > best ? lane : best;
    return best;
  }
  static bool any_greater(const F& a, const F& b) {
    for (int i = 0; i < kLanes; ++i)
      if (a.lane[i] > b.lane[i]) return true;
    return false;
  }
  // 2^n for a whole n in [-126, 127]; anything for a NaN
  static F power_of_two(const F& n) {
    return each<float>([&](int i) {
      const int32_t power = n.lane[i] == n.lane[i] ? static_cast<int32_t>(n.lane[i]) : 0;
      return std::bit_cast<float>(static_cast<uint32_t>(power + 127) << 23);
    });
  }

  // 16-bit storage
  static F load_half(const uint16_t* p) {
    return each<float>([=](int i) { return half_to_float(p[i]); });
  }
  static void store_half(uint16_t* p, const F& x) {
    for (int i = 0; i < kLanes; ++i) p[i] = float_to_half(x.lane[i]);
  }
  static F load_bfloat(const uint16_t* p) {
    return each<float>([=](int i) { return bfloat_to_float(p[i]); });
  }

  // int32
  using I = Lanes<int32_t>;
  static I zero_int() { return set_int(0); }
  static I set_int(int32_t x) {
    return each<int32_t>([=](int) { return x; });
  }
  static I add(const I& a, const I& b) {
    return each<int32_t>([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static I sub(const I& a, const I& b) {
    return each<int32_t>([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  template <int Bits>
  static I shift_left(const I& a) {
    return each<int32_t>([&](int i) { return a.lane[i] * (1 << Bits); });
  }
  static F to_float(const I& a) {
    return each<float>([&](int i) { return static_cast<float>(a.lane[i]); });
  }
  // Rounds 8 floats in [-128, 127] to bytes; anything for a NaN.
  static void store_bytes(int8_t* p, const F& x) {
    for (int i = 0; i < kLanes; ++i)
      p[i] = std::fabs(x.lane[i]) <= 128.0f ? static_cast<int8_t>(std::nearbyint(x.lane[i])) : 0;
  }

  // Dot products of unsigned weight codes with signed activations, four bytes a lane.
  struct Codes {
    uint8_t byte[4 * kLanes];
  };
  struct Bytes {
    int8_t byte[4];
  };
  using Dot = I;
  static constexpr int dots_before_widening(int) { return 8; }
  static Codes load_codes(const uint8_t* p) {
    Codes codes;
    std::memcpy(codes.byte, p, sizeof codes.byte);
    return codes;
  }
  static Codes low_nibbles(Codes a) {
    for (uint8_t& byte : a.byte) byte &= 15;
    return a;
  }
  static Codes high_nibbles(Codes a) {
    for (uint8_t& byte : a.byte) byte >>= 4;
    return a;
  }
  // low | (high << Left & Mask) in each byte; a negative Left shifts to the right.
  template <int Left, int Mask>
  static Codes add_bits(Codes low, const Codes& high) {
    for (int i = 0; i < 4 * kLanes; ++i) {
      const int moved = Left > 0 ? high.byte[i] << (Left > 0 ? Left : 0)
                                 : high.byte[i] >> (Left < 0 ? -Left : 0);
      low.byte[i] = static_cast<uint8_t>(low.byte[i] | (moved & Mask));
    }
    return low;
  }
  static Bytes broadcast(const int8_t* p) {
    Bytes bytes;
    std::memcpy(bytes.byte, p, 4);
    return bytes;
  }
  static Dot zero_dot() { return zero_int(); }
  static Dot dot(const Dot& sum, const Codes& codes, const Bytes& x) {
    return each<int32_t>([&](int i) {
      int32_t total = sum.lane[i];
      for (int b = 0; b < 4; ++b) total += codes.byte[4 * i + b] * x.byte[b];
      return total;
    });
  }
  static I widen(const Dot& sum) { return sum; }
};

}  // namespace
}  // namespace vilfredo
