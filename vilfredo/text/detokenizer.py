"""Turns tokens into text one at a time; never gives out a part of a UTF-8 character."""

import codecs

from vilfredo.text.protocol import Tokenizer


class Detokenizer:
    """Everything that `push` and `flush` give, joined, equals decoding all bytes at once.

    Unless the text `continues` another, the space that the tokenizer's own encode would have put
    before it is dropped.
    """

    def __init__(self, tokenizer: Tokenizer, continues: bool = True) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._within = False  # a character of which some bytes are still to come
        self._opens = not continues

    def push(self, token: int) -> str:
        piece = self._tokenizer.piece(token)
        if self._opens and piece:
            self._opens = False
            # A tokenizer that puts a space before a text decodes its first token without it.
            if piece[:1] == b" " and not self._tokenizer.decode((token,)).startswith(" "):
                piece = piece[1:]
        if not self._within:
            try:
                return piece.decode()
            except UnicodeDecodeError:
                self._within = True
        text = self._decoder.decode(piece)
        self._within = self._decoder.getstate()[0] != b""
        return text

    def flush(self) -> str:
        """What is left of a character that was never finished, as U+FFFD."""
        return self._decoder.decode(b"", final=True)
