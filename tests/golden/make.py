"""Makes the golden data: what transformers says, in float32, on the dequantized weights of a GGUF.

Independent of Vilfredo's own readers and decoders: the `gguf` package dequantizes, transformers
tokenizes and computes. Run by hand in an environment with torch, transformers, gguf and numpy:

    python make.py smollm2-135m path/to/SmolLM2-135M-Instruct.Q4_1.gguf

writes smollm2-135m.json beside this file: for each prompt its token ids, sixteen greedily chosen
ids, and the five most likely ids with their log-probabilities at each of those positions.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from gguf import GGUFReader, dequantize
from prompts import LONG, QUESTIONS, TEXTS

CONTINUATION = 16
TOP = 5

LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
GEMMA_NAMES = {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}


def build(reader: GGUFReader):
    """The transformers model that the metadata describes, its weights still random."""
    architecture = reader.fields["general.architecture"].contents()

    def value(key):
        return reader.fields[f"{architecture}.{key}"].contents()

    names = {tensor.name: tensor for tensor in reader.tensors}
    heads = value("attention.head_count")
    rope = {"rope_type": "default", "rope_theta": value("rope.freq_base")}
    common = {
        "vocab_size": int(names["token_embd.weight"].shape[1]),
        "hidden_size": value("embedding_length"),
        "intermediate_size": value("feed_forward_length"),
        "num_hidden_layers": value("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": value("attention.head_count_kv"),
        "max_position_embeddings": value("context_length"),
        "rms_norm_eps": value("attention.layer_norm_rms_epsilon"),
        "tie_word_embeddings": "output.weight" not in names,
        "attn_implementation": "eager",
    }
    match architecture:
        case "llama":
            config = transformers.LlamaConfig(**common, rope_parameters=rope)
            return transformers.LlamaForCausalLM(config)
        case "qwen2":
            config = transformers.Qwen2Config(**common, rope_parameters=rope)
            return transformers.Qwen2ForCausalLM(config)
        case "gemma3":
            local = {"rope_type": "default", "rope_theta": 10000.0}
            config = transformers.Gemma3TextConfig(
                **common,
                head_dim=value("attention.key_length"),
                query_pre_attn_scalar=value("attention.key_length"),
                sliding_window=value("attention.sliding_window"),
                rope_parameters={"full_attention": rope, "sliding_attention": local},
            )
            return transformers.Gemma3ForCausalLM(config)
    raise SystemExit(f"no golden data for the architecture {architecture}")


def translate(name: str, architecture: str) -> str:
    """A GGUF name as transformers spells it."""
    top = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
    stem, kind = name.rsplit(".", 1)
    if stem in top:
        return f"{top[stem]}.{kind}"
    _, layer, part = stem.split(".")
    if architecture == "gemma3":
        part = {**LAYER_NAMES, **GEMMA_NAMES}[part]
    else:
        part = {**LAYER_NAMES, "ffn_norm": "post_attention_layernorm"}[part]
    return f"model.layers.{layer}.{part}.{kind}"


def fill(model, reader: GGUFReader) -> None:
    """Copies every tensor, undoing what the conversion to GGUF did to it."""
    architecture = reader.fields["general.architecture"].contents()
    parameters = dict(model.named_parameters())
    heads = {
        "attn_q.weight": model.config.num_attention_heads,
        "attn_k.weight": model.config.num_key_value_heads,
    }
    missing = set(parameters)
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        part = tensor.name.split(".", 2)[-1]
        if architecture == "llama" and part in heads:
            # GGUF interleaves the halves of each head: [heads, dim/2, 2, in] back to halves.
            split = values.reshape(heads[part], -1, 2, values.shape[-1])
            values = split.swapaxes(1, 2).reshape(values.shape)
        if architecture == "gemma3" and tensor.name.endswith("norm.weight"):
            values = values - 1  # GGUF stores w + 1
        name = translate(tensor.name, architecture)
        with torch.no_grad():
            parameters[name].copy_(torch.from_numpy(np.ascontiguousarray(values)))
        missing.discard(name)
    if missing:
        raise SystemExit(f"the file has no weights for {sorted(missing)}")


def tokenize(tokenizer, architecture: str) -> list[list[int]]:
    if architecture == "gemma3":
        chat = "<start_of_turn>user\n{}<end_of_turn>\n<start_of_turn>model\n"
    else:
        chat = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
    texts = [*TEXTS, *(chat.format(question) for question in QUESTIONS), LONG]
    bos = [tokenizer.bos_token_id] if architecture == "gemma3" else []
    return [bos + tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]


@torch.no_grad()
def continue_greedily(model, prompts: list[list[int]]) -> list[dict]:
    """In one batch, shorter prompts padded on the left and the padding masked."""
    width = max(map(len, prompts))
    given = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    cases = [
        {"prompt": prompt, "continuation": [], "top_ids": [], "top_logprobs": []}
        for prompt in prompts
    ]
    past = None
    for _ in range(CONTINUATION):
        answer = model(
            given,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=past,
            logits_to_keep=1,
        )
        best = torch.log_softmax(answer.logits[:, -1].double(), dim=-1).topk(TOP)
        for case, ids, logprobs in zip(cases, best.indices, best.values, strict=True):
            case["continuation"].append(int(ids[0]))
            case["top_ids"].append(ids.tolist())
            case["top_logprobs"].append([round(value, 4) for value in logprobs.tolist()])
        past, given, positions = answer.past_key_values, best.indices[:, :1], positions[:, -1:] + 1
        mask = torch.cat([mask, torch.ones_like(given)], dim=1)
    return cases


def main(name: str, path: str) -> None:
    reader = GGUFReader(path)
    model = build(reader).float().eval()
    fill(model, reader)
    architecture = reader.fields["general.architecture"].contents()
    file = Path(path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    *short, long = tokenize(tokenizer, architecture)
    cases = continue_greedily(model, short) + continue_greedily(model, [long])
    made_with = f"transformers {transformers.__version__}, torch {torch.__version__}"
    golden = {"model": name, "made_with": made_with, "cases": cases}
    target = Path(__file__).with_name(f"{name}.json")
    target.write_text(json.dumps(golden, separators=(",", ":")) + "\n", encoding="utf-8")
    for case in cases:
        print(tokenizer.decode(case["prompt"])[-60:], "→", tokenizer.decode(case["continuation"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
