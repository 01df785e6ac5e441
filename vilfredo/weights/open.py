"""A path to a checkpoint of whichever kind lies there."""

from pathlib import Path

from vilfredo.base.errors import BadFile
from vilfredo.weights.checkpoint import Checkpoint
from vilfredo.weights.gguf import GgufCheckpoint
from vilfredo.weights.huggingface import HuggingFaceCheckpoint

MOST_SHOWN = 8


def open_checkpoint(path: Path) -> Checkpoint:
    """A GGUF file, a directory that holds one, or a Hugging Face directory. Raises BadFile, and
    Unsupported for a sound checkpoint that this version cannot read."""
    if not path.exists():
        raise BadFile(path, "does not exist")
    if not path.is_dir():
        if path.suffix in (".safetensors", ".json"):
            raise BadFile(path, f"is a part of a checkpoint: give its directory, {path.parent}")
        return GgufCheckpoint(path)
    ggufs = sorted(path.glob("*.gguf"))
    if (path / "config.json").is_file() and not (ggufs and not any(path.glob("*.safetensors"))):
        return HuggingFaceCheckpoint(path)
    if len(ggufs) == 1:
        return GgufCheckpoint(ggufs[0])
    if ggufs:
        shown = ", ".join(each.name for each in ggufs[:MOST_SHOWN])
        raise BadFile(path, f"holds {len(ggufs)} GGUF files, so name one: {shown}")
    raise BadFile(path, "is a directory without a config.json or a GGUF file")
