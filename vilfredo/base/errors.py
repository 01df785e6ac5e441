"""The errors that Vilfredo raises on purpose; anything else that escapes is a fault of ours."""


class VilfredoError(Exception):
    """The root: its message is fit to be shown to the user as it stands."""


class InvalidInput(VilfredoError):
    """A request or setting that can never succeed: `field` names what is wrong with it."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class BadFile(VilfredoError):
    """A model file that lies or is cut short: names the file and, where known, the byte."""

    def __init__(self, path: object, reason: str, byte: int | None = None) -> None:
        where = f"{path}, byte {byte}" if byte is not None else f"{path}"
        super().__init__(f"{where}: {reason}")
        self.path = str(path)
        self.byte = byte
        self.reason = reason


class Unsupported(VilfredoError):
    """A sound file or model that this version cannot run: names what is missing."""


class PullFailed(VilfredoError):
    """A model could not be fetched or did not match its checksum; nothing was kept in its place."""


class Overloaded(VilfredoError):
    """No capacity for one more request now; `retry_after` is in seconds."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class EngineDied(VilfredoError):
    """The engine's process ended while it held the request."""


class SelfTestFailed(VilfredoError):
    """A kernel of the chosen table parts from the reference: serving would give wrong tokens."""
