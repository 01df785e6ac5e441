// A table, the threads that run it, and whether its calls run or are recorded.
//
// Shapes are checked when a call is made, once for a recorded one; contents, which say where
// kernels read and write, before each run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../program.h"
#include "arrays.h"

namespace vilfredo {

class Kernels {
 public:
  // Throws std::invalid_argument for a table that this machine cannot run.
  Kernels(const std::string& name, int threads);

  bool batch_invariant() const { return table_.batch_invariant; }
  float factor_error() const { return table_.factor_error; }

  // What matrices are packed into; see bindings/packing.cpp.
  std::string layout() const;
  int64_t packed_bytes(const std::string& format, int64_t rows, int64_t columns) const;
  Packed pack(const std::string& format, const Bytes& data, int64_t rows, int64_t columns,
              const std::optional<Array<uint8_t, 1>>& memory);
  Packed open(const std::string& format, int64_t rows, int64_t columns, float gain,
              const Bytes& memory) const;

  void embed(const Packed& table, const Ints& tokens, float scale, const Output<2>& out);
  void rms_norm(const Input<2>& x, const Input<1>& weight, float eps, const Output<2>& out);
  void linear(const Input<2>& x, const Packed& weight, const std::optional<Input<1>>& bias,
              const Output<2>& out);
  void rope(const Output<3>& x, const Input<2>& cos, const Input<2>& sin, bool interleaved);
  void store(const Input<3>& keys, const Input<3>& values, const Halves& key_cache,
             const Halves& value_cache, const Ints& slots);
  void attention(const Input<3>& queries, const Halves& key_cache, const Halves& value_cache,
                 const Ints& borders, const Ints& starts, const Array<const int32_t, 2>& blocks,
                 float scale, int64_t window, float softcap, const Output<3>& out);
  void gate(const std::string& activation, const Input<2>& gate, const Input<2>& up,
            const Output<2>& out);
  void add(const Output<2>& x, const Input<2>& y);
  void take(const Input<2>& x, const Ints& rows, const Output<2>& out);
  void softcap(const Output<2>& x, float cap);
  void top(const Input<2>& logits, const Array<int32_t, 2>& out_ids, const Output<2>& out_values,
           const Output<1>& out_logsumexp);

  // From here on calls are kept, not run, until the recording ends.
  void begin_recording();
  std::unique_ptr<Program> end_recording();
  void replay(const Program& program, std::optional<Array<int64_t, 2>> times);

 private:
  // What a call needs besides its arithmetic: arrays that must live as long as it may run.
  void row_call(const char* op, int64_t rows, std::vector<Region> regions,
                std::function<void(Pool&, int64_t first, int64_t count)> run);
  void single(const char* op, std::function<void(Pool&)> run);
  void check(Program::Subject subject, std::function<void()> check);
  CacheShape cache_shape(const Halves& keys, const Halves& values) const;

  const Table& table_;
  Pool pool_;
  Activations prepared_;
  Buffer<float> scratch_;
  std::unique_ptr<Program> recording_;
};

std::vector<std::string> table_names();

// Changes with whatever may change the bytes of a packed matrix.
const char* layout_version();

}  // namespace vilfredo
