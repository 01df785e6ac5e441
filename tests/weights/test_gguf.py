"""GGUF checkpoints: equal to what the gguf package reads, and unmoved by files that lie."""

import struct
import tracemalloc
from pathlib import Path

import gguf
import numpy as np
import pytest

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.base.quants import FORMATS, dequantize
from vilfredo.weights.gguf import GgufCheckpoint

MUTATIONS = 1000
ROWS, BLOCKS = 2, 2


def write_every_format(path: Path, tokens: int) -> None:
    """A tensor of every format and metadata of every type."""
    writer = gguf.GGUFWriter(path, "llama")
    for kind in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"):
        bounds = np.iinfo(kind)
        getattr(writer, f"add_{kind}")(f"least.{kind}", int(bounds.min))
        getattr(writer, f"add_{kind}")(f"most.{kind}", int(bounds.max))
    writer.add_float32("some.float32", -0.5)
    writer.add_float64("some.float64", 1e300)
    writer.add_bool("some.true", True)
    writer.add_bool("some.false", False)
    writer.add_string("some.string", "Così è, ☕")
    writer.add_array("some.integers", [1, -2, 3])
    writer.add_array("some.floats", [0.5, 1.5])
    writer.add_array("some.truths", [True, False, True])
    writer.add_array("some.strings", [f"tok{index}" for index in range(tokens)])
    random = np.random.default_rng(0)
    for form in FORMATS.values():
        data = random.integers(0, 256, (ROWS, BLOCKS * form.nbytes), dtype=np.uint8)
        kind = gguf.GGMLQuantizationType(form.ggml_type)
        writer.add_tensor(f"blk.0.{form.name}.weight", data, raw_dtype=kind)
    writer.add_tensor("deep.weight", random.standard_normal((2, 3, 4, 5)).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def every_format(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "every-format.gguf"
    write_every_format(path, tokens=40)
    return path


def test_metadata_equals_what_the_gguf_package_reads(every_format: Path) -> None:
    checkpoint, reader = GgufCheckpoint(every_format), gguf.GGUFReader(every_format)
    expected = {
        key: field.contents() for key, field in reader.fields.items() if not key.startswith("GGUF.")
    }
    ours = {
        key: value.tolist() if isinstance(value, np.ndarray) else value
        for key, value in checkpoint.config.items()
    }
    assert checkpoint.kind == "gguf"
    assert ours == expected
    assert {key: type(value) for key, value in ours.items()} == {
        key: type(value) for key, value in expected.items()
    }


def test_tensors_equal_what_the_gguf_package_reads(every_format: Path) -> None:
    checkpoint, reader = GgufCheckpoint(every_format), gguf.GGUFReader(every_format)
    assert checkpoint.names() == {tensor.name for tensor in reader.tensors}
    for expected in reader.tensors:
        ours = checkpoint.tensor(expected.name)
        assert ours.name == expected.name
        assert ours.format == expected.tensor_type.name
        assert ours.shape == tuple(expected.shape.tolist()[::-1])
        assert ours.data.tobytes() == expected.data.tobytes()
        assert not ours.data.flags.writeable


def test_what_was_given_back_is_read_again(every_format: Path) -> None:
    checkpoint = GgufCheckpoint(every_format)
    assert checkpoint.files == (every_format,)
    tensors = [checkpoint.tensor(name) for name in sorted(checkpoint.names())]
    before = [tensor.data.tobytes() for tensor in tensors]
    checkpoint.release()
    assert [tensor.data.tobytes() for tensor in tensors] == before


def test_a_tensor_that_is_not_there(every_format: Path) -> None:
    with pytest.raises(BadFile, match=r"has no tensor 'blk\.9'"):
        GgufCheckpoint(every_format).tensor("blk.9")


def use(path: Path) -> tuple[bool, int]:
    """Opens the file and touches all that it claims to hold: whether it was read rather than
    refused, and the most memory that took."""
    read = False
    tracemalloc.start()
    try:
        checkpoint = GgufCheckpoint(path)
        for name in checkpoint.names():
            tensor = checkpoint.tensor(name)
            assert dequantize(tensor).shape == tensor.shape
        read = True
    except (BadFile, Unsupported):
        pass
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return read, most


def mutated(data: bytes, header: int, random: np.random.Generator) -> bytes:
    """The file with one fault, nearly always in the header, where it does the most harm."""
    changed = bytearray(data)
    at = int(random.integers(len(data) if random.random() < 0.1 else header))
    match random.integers(4):
        case 0:
            changed[at] ^= 1 << random.integers(8)
        case 1:
            return bytes(changed[:at])
        case 2:
            inflated = min(2**64 - 1, int(2 ** random.uniform(8, 64)))
            changed[at : at + 8] = struct.pack("<Q", inflated)
        case _:
            span = int(random.integers(1, 16))
            changed[at : at + span] = random.bytes(span)
    return bytes(changed)


def test_a_thousand_mutations_are_read_or_refused_in_bounded_memory(
    every_format: Path, tmp_path: Path
) -> None:
    data, path = every_format.read_bytes(), tmp_path / "mutated.gguf"
    header = len(data) - sum(
        GgufCheckpoint(every_format).tensor(name).data.nbytes
        for name in GgufCheckpoint(every_format).names()
    )
    outcomes = set()
    for seed in range(MUTATIONS):
        path.write_bytes(mutated(data, header, np.random.default_rng(seed)))
        read, most = use(path)
        assert most < 1 << 20, f"seed {seed} of a file of {len(data)} bytes"
        outcomes.add(read)
    assert outcomes == {True, False}


def test_mutations_of_a_long_vocabulary(tmp_path: Path) -> None:
    """Long arrays of strings are read in another way than short ones."""
    whole, path = tmp_path / "whole.gguf", tmp_path / "mutated.gguf"
    write_every_format(whole, tokens=5000)
    data = whole.read_bytes()
    for seed in range(50):
        path.write_bytes(mutated(data, 80_000, np.random.default_rng(seed)))
        assert use(path)[1] < 4 << 20, f"seed {seed} of a file of {len(data)} bytes"
