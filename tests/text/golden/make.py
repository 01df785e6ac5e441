"""Makes llama_cpp.json: how llama.cpp tokenizes the samples, for tests to compare with.

    python make.py NAME=PATH.gguf ...   (needs llama-cpp-python)

Where the models' own tokenizers are known to differ from llama.cpp's, they are followed: texts
are brought to NFC for Qwen2, and left out where llama.cpp takes the HTML tag `</s>`, which is an
ordinary token of Gemma's, for the end of a text.
"""

import json
import sys
import unicodedata
from pathlib import Path

from llama_cpp import Llama  # pyright: ignore[reportMissingImports]
from samples import samples  # pyright: ignore[reportMissingImports]

COUNT, SEED = 200, 20240506


def tokenize(name: str, path: str, texts: list[str]) -> list[str | None]:
    """Token ids with spaces between them, None for what is left out."""
    model = Llama(path, vocab_only=True, verbose=False)
    rows: list[str | None] = []
    for text in texts:
        if name.startswith("gemma") and "</s>" in text:
            rows.append(None)
            continue
        plain = unicodedata.normalize("NFC", text) if name.startswith("qwen") else text
        tokens = model.tokenize(plain.encode(), add_bos=False, special=False) if plain else []
        rows.append(" ".join(map(str, tokens)))
    return rows


if __name__ == "__main__":
    texts = samples(COUNT, SEED)
    rows = {
        name: tokenize(name, path, texts)
        for name, _, path in (argument.partition("=") for argument in sys.argv[1:])
    }
    golden = {"texts": texts, "tokens": rows}
    file = Path(__file__).parent / "llama_cpp.json"
    file.write_text(json.dumps(golden, indent=0) + "\n")
