"""Vilfredo serves the models that you own. `vilfredo.LLM` runs one in this process."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vilfredo.llm import LLM

__all__ = ["LLM"]


def __getattr__(name: str) -> Any:
    """`import vilfredo` costs nothing; whoever asks for LLM pays for numpy and the rest."""
    if name == "LLM":
        from vilfredo.llm import LLM

        return LLM
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
