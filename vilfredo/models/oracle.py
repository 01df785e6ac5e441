"""What transformers computes for the same file, where it is installed: the outside oracle.

The only part of Vilfredo that asks for transformers, and only when it is called.
"""

from collections.abc import Sequence
from typing import Any

from vilfredo.base.errors import Unsupported
from vilfredo.models.trace import Trace
from vilfredo.weights.checkpoint import Checkpoint


def trace_transformers(checkpoint: Checkpoint, tokens: Sequence[int]) -> Trace:
    """One pass in float32, its results under our names. Raises Unsupported without transformers
    and torch (and, for a GGUF file, gguf), or where transformers does not know the model."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
        import transformers  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise Unsupported(f"a comparison with transformers needs it and torch: {error}") from error
    kind: Any = transformers.AutoModelForCausalLM
    path = checkpoint.path
    try:
        if checkpoint.kind == "gguf":
            model = kind.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
        else:
            model = kind.from_pretrained(path, dtype=torch.float32)
    except (ImportError, ValueError, KeyError) as error:
        raise Unsupported(f"{path}: transformers cannot load it: {error}") from error
    with torch.no_grad():
        answer = model.eval()(torch.tensor([list(tokens)]), output_hidden_states=True)
    # The last hidden state has already been through the final norm; ours have not.
    embedding, *layers, _ = (state[0].numpy() for state in answer.hidden_states)
    named = {f"layers.{number}.feed_forward": each for number, each in enumerate(layers)}
    return {"embedding": embedding, **named, "logits": answer.logits[0].numpy()}
