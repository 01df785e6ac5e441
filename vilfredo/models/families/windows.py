"""Which layers see only a window: stated layer by layer, or as a pattern."""

from vilfredo.models.families.config import Config

PATTERN = 6  # every sixth layer sees everything, where nothing states it
KINDS = {"sliding_attention": True, "full_attention": False}


def read_windowed(config: Config, prefix: str, layers: int) -> list[bool]:
    if not config.has("layer_types"):
        pattern = config.whole(f"{prefix}sliding_window_pattern", PATTERN)
        return [number % pattern != 0 for number in range(1, layers + 1)]
    kinds = config.texts("layer_types")
    if len(kinds) != layers:
        raise config.bad("layer_types", f"names {len(kinds)} layers, not {layers}")
    for kind in kinds:
        if kind not in KINDS:
            raise config.bad("layer_types", f"has the unknown kind {kind!r}")
    return [KINDS[kind] for kind in kinds]
