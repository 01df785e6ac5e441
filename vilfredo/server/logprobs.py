"""How log-probabilities are written, the same for a token of a stream and of a whole answer."""

from collections.abc import Sequence

from vilfredo.core.step import Sampled
from vilfredo.server.protocol.chat import ChatLogprobs, TokenLogprob, TopLogprob
from vilfredo.server.protocol.completions import CompletionLogprobs
from vilfredo.text.detokenizer import Detokenizer
from vilfredo.text.protocol import Tokenizer

LEAST = -9999.0  # stands for minus infinity, which JSON cannot write


def token_text(tokenizer: Tokenizer, token: int) -> str:
    """As OpenAI writes it: a part of a character by its bytes, a control token by its name."""
    piece = tokenizer.piece(token)
    if not piece:
        return tokenizer.name(token)
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)


def chat_logprobs(tokenizer: Tokenizer, tokens: Sequence[Sampled]) -> ChatLogprobs:
    return ChatLogprobs([_entry(tokenizer, sampled) for sampled in tokens])


def _entry(tokenizer: Tokenizer, sampled: Sampled) -> TokenLogprob:
    return TokenLogprob(
        token_text(tokenizer, sampled.token),
        _value(sampled.logprob),
        list(tokenizer.piece(sampled.token)),
        [
            TopLogprob(token_text(tokenizer, token), _value(value), list(tokenizer.piece(token)))
            for token, value in sampled.top
        ],
    )


class CompletionLogprobsWriter:
    """Of one choice: it knows how far the text is."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._detokenizer = Detokenizer(tokenizer)
        self._offset = 0

    def write(self, tokens: Sequence[Sampled]) -> CompletionLogprobs:
        written = CompletionLogprobs([], [], [], [])
        for sampled in tokens:
            text = token_text(self._tokenizer, sampled.token)
            tops = {token_text(self._tokenizer, token): _value(at) for token, at in sampled.top}
            written.tokens.append(text)
            written.token_logprobs.append(_value(sampled.logprob))
            written.top_logprobs.append(tops | {text: _value(sampled.logprob)})
            written.text_offset.append(self._offset)
            self._offset += len(self._detokenizer.push(sampled.token))
        return written


def _value(logprob: float | None) -> float:
    return max(LEAST, LEAST if logprob is None else logprob)
