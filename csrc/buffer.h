// Memory for what is read in long runs, and working memory that grows to the most it was asked for.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace vilfredo {

// Aligned to cache lines and, if it is large and the system can, in huge pages: with small ones the
// misses of address translation cost more than the reads.
inline std::shared_ptr<uint8_t> allocate(size_t bytes) {
  constexpr size_t line = 64, huge = size_t{2} << 20;
  const size_t alignment = bytes >= huge / 2 ? huge : line;
  const size_t size = (bytes / alignment + 1) * alignment;
  void* memory = std::aligned_alloc(alignment, size);
  if (!memory) throw std::bad_alloc();
#if defined(__linux__)
  if (alignment == huge) madvise(memory, size, MADV_HUGEPAGE);
#endif
  return {static_cast<uint8_t*>(memory), std::free};
}

template <class T>
class Buffer {
 public:
  // Room for `count` elements, zero at first; where it grows, what was there is lost.
  void reserve(int64_t count) {
    if (count <= size_) return;
    memory_.reset();  // first, that both are never held at once
    size_ = 0;
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    memory_ = allocate(bytes);
    std::memset(memory_.get(), 0, bytes);
    size_ = count;
  }
  T* data() { return reinterpret_cast<T*>(memory_.get()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.get()); }
  T& operator[](int64_t index) { return data()[index]; }

 private:
  std::shared_ptr<uint8_t> memory_;
  int64_t size_ = 0;
};

}  // namespace vilfredo
