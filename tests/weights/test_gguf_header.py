"""Each way in which a GGUF file can lie, by hand, and what is said of it."""

import struct
from pathlib import Path

import pytest

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.weights.gguf import GgufCheckpoint

UINT32, BOOL, STRING, ARRAY, UINT64 = 4, 7, 8, 9, 10
F32, Q4_0 = 0, 2


def string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def entry(key: str, kind: int, value: bytes) -> bytes:
    return string(key) + struct.pack("<I", kind) + value


def array(kind: int, count: int, elements: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + elements


def tensor(name: str, shape: tuple[int, ...], kind: int = F32, offset: int = 0) -> bytes:
    dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return string(name) + dimensions + struct.pack("<IQ", kind, offset)


def file(metadata: tuple[bytes, ...] = (), tensors: tuple[bytes, ...] = (), data: int = 0) -> bytes:
    counts = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata))
    header = counts + b"".join((*metadata, *tensors))
    return header + bytes(-len(header) % 32 + data)


def alignment(value: int, kind: int = UINT32) -> bytes:
    packed = bytes([value]) if kind == BOOL else struct.pack("<I", value)
    return entry("general.alignment", kind, packed)


KEY = 24 + 8 + 1 + 4  # the byte where the value of the first entry, of a key of one byte, begins
TWO = tensor("a", (8,)), tensor("b", (8,), offset=32)

LIES = {
    "is empty": (b"", 0),
    "does not begin with GGUF": (b"GGML" + bytes(100), 0),
    "ends 1 bytes too early": (b"GGUF\3\0\0", 4),
    "claims 9 tensors, more than": (struct.pack("<4sIQQ", b"GGUF", 3, 9, 0) + bytes(200), 8),
    "claims 9 metadata entries": (struct.pack("<4sIQQ", b"GGUF", 3, 0, 9) + bytes(99), 16),
    "claims 18446744073709551615 tensors": (
        struct.pack("<4sIQQ", b"GGUF", 3, 2**64 - 1, 0) + bytes(200),
        8,
    ),
    "has a name of 65536 bytes, over 65535": (file((entry("k" * 65_536, UINT32, bytes(4)),)), 24),
    "has a name of 65 bytes, over 64": (file((), (tensor("t" * 65, (1,)),), data=4), 24),
    "the key 'k' stands twice": (file((entry("k", UINT32, bytes(4)),) * 2), 24 + 8 + 1 + 4 + 4),
    "13 is no type of metadata": (file((entry("k", 13, bytes(8)),)), KEY),
    "a truth value is neither 0 nor 1": (file((entry("k", BOOL, b"\2"),)), KEY),
    "claims 1000 bytes of a string": (
        file((entry("k", STRING, struct.pack("<Q", 1000) + b"short"),)),
        KEY,
    ),
    "a string is not UTF-8": (file((entry("k", STRING, string(b"ab\xff")),)), KEY + 8 + 2),
    "claims 1000 array elements": (
        file((entry("k", ARRAY, array(UINT64, 1000, bytes(64))),)),
        KEY + 4,
    ),
    "99 is no type of metadata": (file((entry("k", ARRAY, array(99, 1, bytes(8))),)), KEY + 12),
    "claims 1000 strings": (file((entry("k", ARRAY, array(STRING, 1000, bytes(64))),)), KEY + 4),
    "a string reaches beyond the file": (
        file((entry("k", ARRAY, array(STRING, 1, struct.pack("<Q", 500))),), data=64),
        KEY + 12,
    ),
    "ends within an array of strings": (
        file((entry("k", ARRAY, array(STRING, 2, string(b"a" * 9))),))[: KEY + 12 + 8 + 9],
        KEY + 12 + 17,
    ),
    "has 0 dimensions": (file((), (tensor("t", ()),), data=4), 24),
    "has 5 dimensions": (file((), (tensor("t", (1,) * 5),), data=4), 24),
    r"has the empty shape \(2, 0\)": (file((), (tensor("t", (0, 2)),), data=4), 24),
    "the tensor 'a' stands twice": (file((), (TWO[0], TWO[0]), data=64), 24 + len(TWO[0])),
    "general.alignment is no power of two": (file((alignment(24),)), None),
    "'b' is not aligned to 64": (file((alignment(64),), TWO, data=128), None),
    "'b' overlaps 'a'": (file((), (tensor("a", (9,)), TWO[1]), data=96), 24 + len(TWO[0])),
    "'t' has rows of 33, not whole blocks of Q4_0": (
        file((), (tensor("t", (33, 2), Q4_0),), data=64),
        24,
    ),
    "'t' reaches to byte": (file((), (tensor("t", (9,)),), data=35), 24),
    "'u' reaches to byte": (file((), (tensor("u", (2**62, 2**62)),), data=64), 24),
}


def test_a_sound_file_of_the_same_making_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sound.gguf"
    words = array(STRING, 2, string("a") + string(""))
    path.write_bytes(file((alignment(32), entry("k", ARRAY, words)), TWO, data=64))
    checkpoint = GgufCheckpoint(path)
    assert checkpoint.config == {"general.alignment": 32, "k": ["a", ""]}
    assert checkpoint.names() == {"a", "b"}


@pytest.mark.parametrize("said", LIES)
def test_a_lie_is_named_with_its_byte(said: str, tmp_path: Path) -> None:
    data, byte = LIES[said]
    path = tmp_path / "lie.gguf"
    path.write_bytes(data)
    with pytest.raises(BadFile, match=said) as caught:
        GgufCheckpoint(path)
    assert caught.value.path == str(path)
    if byte is not None:
        assert caught.value.byte == byte


@pytest.mark.parametrize("value", [0, 3, 48])
def test_alignments_that_are_no_power_of_two(value: int, tmp_path: Path) -> None:
    (tmp_path / "lie.gguf").write_bytes(file((alignment(value),), TWO, data=128))
    with pytest.raises(BadFile, match="no power of two"):
        GgufCheckpoint(tmp_path / "lie.gguf")


def test_an_alignment_that_is_no_number(tmp_path: Path) -> None:
    (tmp_path / "lie.gguf").write_bytes(file((alignment(1, BOOL),), TWO, data=64))
    with pytest.raises(BadFile, match="no power of two"):
        GgufCheckpoint(tmp_path / "lie.gguf")


@pytest.mark.parametrize(
    ("said", "data"),
    [
        ("version 1 is not supported", struct.pack("<4sIQQ", b"GGUF", 1, 0, 0)),
        ("version 4 is not supported", struct.pack("<4sIQQ", b"GGUF", 4, 0, 0)),
        ("big-endian", struct.pack(">4sIQQ", b"GGUF", 3, 0, 0)),
        ("arrays of arrays", file((entry("k", ARRAY, array(ARRAY, 1, bytes(16))),))),
        ("quantization type 16", file((), (tensor("t", (256,), 16),), data=256)),
        ("one of several files", file((entry("split.count", UINT32, b"\2\0\0\0"),))),
    ],
)
def test_what_is_sound_but_not_read(said: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / "other.gguf").write_bytes(data)
    with pytest.raises(Unsupported, match=said):
        GgufCheckpoint(tmp_path / "other.gguf")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="No such file"):
        GgufCheckpoint(tmp_path / "absent.gguf")
