"""Messages as bytes between two processes: four bytes of length, then MessagePack."""

import socket
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

Message = TypeVar("Message")

_LENGTH = 4
_PIECE = 1 << 16  # bytes that are read at once
_encoder = msgspec.msgpack.Encoder()


def frame(message: object) -> bytes:
    body = _encoder.encode(message)
    return len(body).to_bytes(_LENGTH, "little") + body


class Frames(Generic[Message]):
    """Puts messages together from bytes that arrive in any pieces."""

    def __init__(self, kind: Any) -> None:
        """`kind` is the messages' type: a struct, a dataclass, or a union of tagged structs."""
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        self._buffer += data
        while len(self._buffer) >= _LENGTH:
            end = _LENGTH + int.from_bytes(self._buffer[:_LENGTH], "little")
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH:end])
            del self._buffer[:end]
            yield self._decoder.decode(body)


class Inbox(Generic[Message]):
    """The messages that come in on a socket, for a loop that must not wait while it has work."""

    def __init__(self, connection: socket.socket, kind: Any) -> None:
        self._connection = connection
        self._frames: Frames[Message] = Frames(kind)

    def take(self, wait: bool) -> list[Message]:
        """All that has arrived; with `wait`, at least one message.

        Raises EOFError once the other side is gone.
        """
        messages: list[Message] = []
        while True:
            # A flag spares the calls that would make the socket wait or not: this is every step's.
            flags = 0 if wait and not messages else socket.MSG_DONTWAIT
            try:
                data = self._connection.recv(_PIECE, flags)
            except BlockingIOError:
                return messages
            except ConnectionError:
                data = b""
            if not data:
                if messages:
                    return messages  # the end is told next time
                raise EOFError
            messages.extend(self._frames.feed(data))
            if len(data) < _PIECE and (messages or not wait):
                return messages
