"""What the engine refuses on its own account reaches the caller too."""

import pytest

from vilfredo.base.errors import InvalidInput
from vilfredo.core.request import Limits, Request
from vilfredo.llm import LLM
from vilfredo.llm.drive import Generation, GenerationFailed, drive
from vilfredo.text.stream import TextStream


def test_a_request_that_the_engine_refuses_is_an_error(tiny_gguf):
    llm = LLM(str(tiny_gguf), table="reference", threads=1)
    request = Request("long", (1,) * 300, Limits(5))
    generation = Generation(request, TextStream(llm.tokenizer))
    with pytest.raises(GenerationFailed, match="300 tokens leave no room"):
        list(drive(llm._engine, [generation]))
    with pytest.raises(InvalidInput, match="300 tokens leave no room"):
        llm.generate([[1] * 300])
