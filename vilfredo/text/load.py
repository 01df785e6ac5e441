"""The tokenizer and the chat template of a checkpoint, whichever way it stores them."""

from vilfredo.base.errors import BadFile, Unsupported
from vilfredo.text.bytelevel import build_byte_level
from vilfredo.text.gguf import PREFIX, read_vocabulary
from vilfredo.text.sentencepiece import build_sentence_piece
from vilfredo.text.template import ChatTemplate
from vilfredo.text.tokenizer import ModelTokenizer
from vilfredo.weights.checkpoint import Checkpoint

_KEYS = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}


def load_tokenizer(checkpoint: Checkpoint) -> ModelTokenizer:
    """Raises BadFile where the checkpoint contradicts itself and Unsupported for a tokenizer of
    a kind that this version does not know."""
    vocabulary = read_vocabulary(checkpoint.path, checkpoint.config)
    match model := checkpoint.config.get(f"{PREFIX}model"):
        case "gpt2":
            return build_byte_level(vocabulary, checkpoint.config)
        case "llama":
            return build_sentence_piece(vocabulary, checkpoint.config)
        case str():
            raise Unsupported(f"tokenizers of the kind {model!r} are not supported")
        case _:
            raise BadFile(checkpoint.path, f"{PREFIX}model is missing or no string")


def load_template(checkpoint: Checkpoint, tokenizer: ModelTokenizer) -> ChatTemplate | None:
    """None where the model has no template and so is not made for chat."""
    config = checkpoint.config
    source = config.get("tokenizer.chat_template")
    if source is None:
        return None
    if not isinstance(source, str):
        raise BadFile(checkpoint.path, "tokenizer.chat_template must be a string")
    names = {
        f"{role}_token": tokenizer.name(token)
        for role in ("bos", "eos", "pad", "unk")
        if (token := config.get(f"{PREFIX}{_KEYS[role]}_token_id")) is not None
    }
    return ChatTemplate(source, tokenizer, names, checkpoint.path)
