// What this machine can do at most: bytes read and multiply-adds a second, as one line of JSON.
//
//   limits THREADS
//
// Compiled for the machine it runs on. Each figure is the best of several tries of all threads at
// once: limits, not averages.
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr int kTries = 12;

// Work that all threads did, over the seconds that the slowest took.
double best_rate(int threads, double work, const std::function<void(int)>& run) {
  double best = 0;
  for (int t = 0; t < kTries; ++t) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
    run(0);
    for (std::thread& other : others) other.join();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, work * threads / seconds.count());
  }
  return best;
}

double read_bandwidth(int threads) {
  constexpr size_t bytes = size_t{256} << 20;
  std::vector<uint8_t*> memory;
  for (int i = 0; i < threads; ++i) {
    memory.push_back(static_cast<uint8_t*>(std::aligned_alloc(1 << 21, bytes)));
    std::memset(memory.back(), i + 1, bytes);
  }
  std::vector<uint64_t> sums(threads * 64);
  return best_rate(threads, bytes, [&](int i) {
    uint64_t sum[8] = {};
    const auto* words = reinterpret_cast<const uint64_t*>(memory[i]);
    for (size_t w = 0; w < bytes / 8; w += 8)
      for (int k = 0; k < 8; ++k) sum[k] += words[w + k];
    for (int k = 0; k < 8; ++k) sums[i * 64] += sum[k];
  });
}

constexpr int64_t kLoops = 8'000'000;

#if defined(__AVX512F__)
using Vector = __m512;
Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
constexpr int kLanes = 16;
#else
using Vector = __m256;
Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
constexpr int kLanes = 8;
#endif

double float_peak(int threads) {
  return best_rate(threads, double(kLoops) * 10 * kLanes, [](int) {
    Vector a[10] = {}, b{}, c{};
    asm volatile("" : "+v"(b), "+v"(c));
    for (Vector& sum : a) asm volatile("" : "+v"(sum));  // else they are one sum
    for (int64_t i = 0; i < kLoops; ++i) {
#pragma GCC unroll 10
      for (Vector& sum : a) sum = fma(b, c, sum);
      asm volatile("" : "+v"(b));
    }
    for (Vector& sum : a) asm volatile("" : : "v"(sum));
  });
}

double byte_peak(int threads) {
#if defined(__AVX512VNNI__)
  return best_rate(threads, double(kLoops) * 10 * 64, [](int) {
    __m512i a[10] = {}, b{}, c{};
    asm volatile("" : "+v"(b), "+v"(c));
    for (__m512i& sum : a) asm volatile("" : "+v"(sum));  // else they are one sum
    for (int64_t i = 0; i < kLoops; ++i) {
#pragma GCC unroll 10
      for (__m512i& sum : a) sum = _mm512_dpbusd_epi32(sum, b, c);
      asm volatile("" : "+v"(b));
    }
    for (__m512i& sum : a) asm volatile("" : : "v"(sum));
  });
#else
  return best_rate(threads, double(kLoops) * 10 * 32, [](int) {
    __m256i a[10] = {}, b{}, c{};
    asm volatile("" : "+v"(b), "+v"(c));
    for (__m256i& sum : a) asm volatile("" : "+v"(sum));  // else they are one sum
    for (int64_t i = 0; i < kLoops; ++i) {
#pragma GCC unroll 10
      for (__m256i& sum : a) sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(b, c));
      asm volatile("" : "+v"(b));
    }
    for (__m256i& sum : a) asm volatile("" : : "v"(sum));
  });
#endif
}

#if defined(__AMX_BF16__) && defined(__AMX_INT8__)
bool tiles_allowed() { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; }

template <bool Bytes>
double tile_peak(int threads) {
  constexpr int64_t loops = kLoops / 40;
  return best_rate(threads, double(loops) * 4 * 16 * 16 * (Bytes ? 64 : 32), [](int) {
    struct alignas(64) {
      uint8_t palette = 1, start = 0, reserved[14] = {};
      uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    asm volatile("" : : "r"(&config) : "memory");
    _tile_loadconfig(&config);
    _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);
    _tile_zero(4); _tile_zero(5); _tile_zero(6); _tile_zero(7);
    for (int64_t i = 0; i < loops; ++i) {
      if constexpr (Bytes) {
        _tile_dpbssd(0, 4, 6); _tile_dpbssd(1, 4, 7); _tile_dpbssd(2, 5, 6); _tile_dpbssd(3, 5, 7);
      } else {
        _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
      }
    }
    _tile_release();
  });
}
#endif

}  // namespace

int main(int, char** arguments) {
  const int threads = std::max(1, std::atoi(arguments[1]));
  double tile_bytes = 0, tile_bfloats = 0;
#if defined(__AMX_BF16__) && defined(__AMX_INT8__)
  if (tiles_allowed()) {
    tile_bytes = tile_peak<true>(threads);
    tile_bfloats = tile_peak<false>(threads);
  }
#endif
  std::printf(
      "{\"read_bytes\": %.4g, \"float_fma\": %.4g, \"byte_dot\": %.4g, \"tile_bytes\": %.4g, "
      "\"tile_bfloats\": %.4g}\n",
      read_bandwidth(threads), float_peak(threads), byte_peak(threads), tile_bytes, tile_bfloats);
}
