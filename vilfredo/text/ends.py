"""How known models spell the control tokens that end a turn or a text."""

END_SPELLINGS = frozenset(
    {
        "<|endoftext|>",
        "<|end_of_text|>",
        "<|im_end|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<end_of_turn>",
        "<|end_of_turn|>",
        "<|end|>",
        "<|eot|>",
        "<|return|>",
        "<|call|>",
        "<EOT>",
        "</s>",
        "<eos>",
        "<\uff5cend▁of▁sentence\uff5c>",  # DeepSeek writes full-width bars
    }
)
