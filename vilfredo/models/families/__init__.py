"""Families: each maps a checkpoint's configuration to a ModelSpec; here they are found by name."""

from vilfredo.base.errors import Unsupported
from vilfredo.models.families import gemma3, llama, qwen2
from vilfredo.models.families.config import Config
from vilfredo.models.spec import ModelSpec
from vilfredo.weights.checkpoint import Checkpoint

GGUF_FAMILIES = {"llama": llama.read, "qwen2": qwen2.read, "gemma3": gemma3.read}
HF_FAMILIES = {
    "LlamaForCausalLM": llama.read,
    "Qwen2ForCausalLM": qwen2.read,
    "Gemma3ForCausalLM": gemma3.read,
}


def read_spec(checkpoint: Checkpoint) -> ModelSpec:
    """Raises Unsupported for an unknown architecture, and BadFile for a configuration that lacks
    a key or lies, by the key's name."""
    config = Config.of(checkpoint)
    if checkpoint.kind == "gguf":
        names, families = [config.text("general.architecture")], GGUF_FAMILIES
    else:
        names, families = config.texts("architectures"), HF_FAMILIES
    for name in names:
        if name in families:
            return families[name](checkpoint)
    raise Unsupported(
        f"{checkpoint.path}: the architecture {', '.join(names) or 'of no name'}; "
        f"known are {', '.join(families)}"
    )
