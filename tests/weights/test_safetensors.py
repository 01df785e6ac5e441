"""Safetensors files: what was written is read, and what lies is refused by name."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.base.quants import dequantize
from vilfredo.weights.safetensors import SafetensorsFile


def file(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def place(
    start: int, end: int, shape: tuple[int, ...] = (4,), dtype: str = "F32"
) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


VALUES = np.array([[1.5, -2.0, 0.25], [0.0, 1024.0, -0.5]], np.float32)  # exact in all types
BYTES = {
    "F32": VALUES.tobytes(),
    "F16": VALUES.astype(np.float16).tobytes(),
    "BF16": (VALUES.view(np.uint32) >> 16).astype(np.uint16).tobytes(),
}


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    """One tensor of every type that is read, one scalar, one empty, and one that is not read."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for dtype, raw in BYTES.items():
        header[f"w.{dtype}"] = place(len(data), len(data) + len(raw), VALUES.shape, dtype)
        data += raw
    header["scalar"] = place(len(data), len(data) + 4, ())
    data += np.float32(7).tobytes()
    header["empty"] = place(len(data), len(data), (0, 3))
    header["codes"] = place(len(data), len(data) + 4, (4,), "U8")
    path = tmp_path / "model.safetensors"
    path.write_bytes(file(header, data + bytes(4)))
    return path


def test_values_are_those_that_were_written(sound: Path) -> None:
    read = SafetensorsFile(sound)
    assert read.names() == {"w.F32", "w.F16", "w.BF16", "scalar", "empty", "codes"}
    for dtype in BYTES:
        tensor = read.tensor(f"w.{dtype}")
        assert (tensor.format, tensor.shape) == (dtype, (2, 3))
        assert np.array_equal(dequantize(tensor), VALUES)
        assert not tensor.data.flags.writeable
    assert dequantize(read.tensor("scalar")) == 7
    assert dequantize(read.tensor("empty")).shape == (0, 3)


def test_other_types_are_refused_by_name_once_they_are_asked_for(sound: Path) -> None:
    with pytest.raises(Unsupported, match="'codes' is of type U8; read are BF16, F16, F32"):
        SafetensorsFile(sound).tensor("codes")


LIES = {
    "is empty": b"",
    "claims a header of 3 bytes, of 0": b"\3\0\0",
    "claims a header of 99 bytes, of 2": (99).to_bytes(8, "little") + b"{}",
    "claims a header of 18446744073709551615 bytes": b"\xff" * 8 + b"{}",
    "is not JSON": file(b"{nonsense"),
    "is not JSON: 'utf-8'": file(b'{"\xff": 1}'),
    "is not JSON: maximum recursion": file(b"[" * 100_000),
    "a name stands twice": file(b'{"a": 1, "a": 1}'),
    "is not a JSON object": file([]),
    "'w' lacks a dtype": file({"w": {"shape": [4], "data_offsets": [0, 16]}}, bytes(16)),
    "'x' lacks": file({"x": 7}),
    "'y' lacks": file({"y": {"dtype": "F32", "shape": [4], "data_offsets": [0]}}, bytes(16)),
    "'a' has a shape or offsets": file({"a": place(0, 17)}, bytes(16)),
    "'b' has a shape or offsets": file({"b": place(-16, 0)}, bytes(16)),
    "'c' has a shape or offsets": file({"c": place(0, 16, (-4,))}, bytes(16)),
    "'d' has a shape or offsets": file({"d": place(0, 16, (2**70,))}, bytes(16)),
    "'e' has a shape or offsets": file({"e": place(0, 4, (1,) * 9)}, bytes(4)),
    "'f' has a shape or offsets": file(
        {"f": {"dtype": "F32", "shape": [4.0], "data_offsets": [0, 16]}}, bytes(16)
    ),
    "'g' of F32 .* does not take bytes 16 to 0": file({"g": place(16, 0)}, bytes(16)),
    "'h' of F32 .* does not take bytes 0 to 12": file({"h": place(0, 12)}, bytes(16)),
    "'i' of U8 .* does not take bytes 4 to 0": file({"i": place(4, 0, (4,), "U8")}, bytes(4)),
    "'k' overlaps 'j'": file({"j": place(0, 16), "k": place(12, 28)}, bytes(28)),
}  # fmt: skip


@pytest.mark.parametrize("said", LIES)
def test_a_lie_is_named(said: str, tmp_path: Path) -> None:
    path = tmp_path / "lie.safetensors"
    path.write_bytes(LIES[said])
    with pytest.raises(BadFile, match=said) as caught:
        SafetensorsFile(path)
    assert caught.value.path == str(path)


def test_mutations_are_read_or_refused_in_bounded_memory(sound: Path, tmp_path: Path) -> None:
    data, path, outcomes = sound.read_bytes(), tmp_path / "mutated.safetensors", set()
    for seed in range(1000):
        random, changed = np.random.default_rng(seed), bytearray(data)
        at = int(random.integers(len(data)))
        if random.random() < 0.2:
            del changed[at:]
        elif random.random() < 0.5:
            changed[at] ^= 1 << int(random.integers(8))
        else:
            changed[at] = ord(random.choice(list('0123456789[]{}:," -')))
        path.write_bytes(changed)
        tracemalloc.start()
        try:
            read = SafetensorsFile(path)
            for name in read.names() - {"codes"}:
                tensor = read.tensor(name)
                assert dequantize(tensor).shape == tensor.shape
            outcomes.add("read")
        except (BadFile, Unsupported) as error:
            outcomes.add(type(error))
        finally:
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert most < 1 << 20, f"seed {seed}"
    assert outcomes == {"read", BadFile, Unsupported}
