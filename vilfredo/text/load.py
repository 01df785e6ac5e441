"""The tokenizer and the chat template of a checkpoint, whichever way it stores them."""

import os
from pathlib import Path

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.text.bytelevel import build_byte_level
from vilfredo.text.gguf import PREFIX, read_vocabulary
from vilfredo.text.hub import build_from_directory
from vilfredo.text.hubfiles import SETTINGS, find_template, read_json, spellings
from vilfredo.text.mergecache import MergeCache, cache_directory
from vilfredo.text.sentencepiece import build_sentence_piece
from vilfredo.text.template import ChatTemplate
from vilfredo.text.tokenizer import ModelTokenizer
from vilfredo.weights.checkpoint import Checkpoint

# The special tokens that templates may name, and GGUF's words for them.
_WORDS = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}


def load_tokenizer(checkpoint: Checkpoint, cache: MergeCache | None = None) -> ModelTokenizer:
    """Raises BadFile where the checkpoint contradicts itself and Unsupported for a tokenizer of
    a kind that this version does not know."""
    if checkpoint.kind == "hf":
        return build_from_directory(_directory(checkpoint), checkpoint.config)
    metadata = checkpoint.config
    match model := metadata.get(f"{PREFIX}model"):
        case "gpt2":
            return build_byte_level(read_vocabulary(checkpoint.path, metadata), metadata)
        case "llama":
            cache = cache or MergeCache(cache_directory(os.environ))
            return build_sentence_piece(read_vocabulary(checkpoint.path, metadata), metadata, cache)
        case str():
            raise Unsupported(f"tokenizers of the kind {model!r} are not supported")
        case _:
            raise BadFile(checkpoint.path, f"{PREFIX}model is missing or no string")


def load_template(checkpoint: Checkpoint, tokenizer: ModelTokenizer) -> ChatTemplate | None:
    """None where the model has no template and so is not made for chat."""
    if checkpoint.kind == "hf":
        directory = _directory(checkpoint)
        source, path = find_template(directory)
        names = spellings(read_json(directory / SETTINGS))
    else:
        source, path = checkpoint.config.get("tokenizer.chat_template"), checkpoint.path
        names = {
            f"{role}_token": tokenizer.name(token)
            for role, word in _WORDS.items()
            if (token := checkpoint.config.get(f"{PREFIX}{word}_token_id")) is not None
        }
    if source is None:
        return None
    if not isinstance(source, str):
        raise BadFile(path, "tokenizer.chat_template is no string")
    return ChatTemplate(source, tokenizer, names, path)


def _directory(checkpoint: Checkpoint) -> Path:
    return checkpoint.path if checkpoint.path.is_dir() else checkpoint.path.parent
