"""Varied texts on which tokenizers are compared: fixed ones and mixtures made from a seed."""

# ruff: noqa: RUF001 - letters that look like others are what this is about
import random

FIXED = (
    "",
    " ",
    "a",
    "Hello, world!",
    " leading and trailing ",
    "I'm sure they'll say it's what we've DON'T they'd 'tis O'Neill's",
    "I'M THEY'LL WE'VE YOU'RE",
    "The year 2024 had 366 days; 1,234,567.89 is 1.23456789e6. ½ ² ⅷ ٣٤ १२३",
    "0123456789" * 5,
    "def f(x: int) -> int:\n    return x ** 2 if x > 0 else -x  # square\n\n\nprint(f(3))\n",
    "for (int i = 0; i < n; ++i) {\n\tsum += a[i] * b[i];\n\t\t/* deep */\n}\r\n",
    "SELECT * FROM t WHERE a <> 'b' AND c != \"d\";",
    "<html><body><h1>Title</h1><p class='x'>A &amp; B</p></body></html>",
    '{"name": "f", "arguments": {"a": [1, 2, null], "b": "\\u00e9"}}',
    "https://example.com/a/b?c=d&e=%20#frag user@example.org C:\\dir\\file.txt",
    "\n",
    "\n\n\n",
    "\n" * 40,
    " " * 2,
    " " * 7,
    " " * 50,
    "a" + " " * 33 + "b",
    "\t\t\ttabs\tand \t mixed  \t \n \n  \n\t\n",
    "line\r\nline\rline\n\r\nend",
    "  two spaces first\n   three\n    four",
    "日本語のテキスト、句読点。カタカナ ひらがな",
    "中文文本没有空格，很多标点：《书名》“引号”",
    "한국어 텍스트와 띄어쓰기",
    "العربية من اليمين إلى اليسار ٢٠٢٤",
    "עברית עם ניקוד: שָׁלוֹם",
    "हिन्दी में लिखा हुआ पाठ",
    "ภาษาไทยไม่มีช่องว่าง",
    "Ελληνικά και Кириллица and ქართული",
    "Zażółć gęślą jaźń; Fußgänger; crème brûlée; naïve; smørrebrød; İstanbul ıIiİ",
    "x\u0323\u0307\u0331 q\u0307\u0323 z\u0335\u0321",
    "🙂😀👍🏽👩‍👩‍👧‍👦🏳️‍🌈🇩🇪🇫🇷 ❤️ ✨",
    "mixed 🙂text👍with🎉emoji",
    "\u200b\u200d\ufeff\u00a0non\u00a0breaking\u2003em\u3000wide",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈𐌰𐌽 🜁 \U0001f9ff \U000e0041",
    "“Quotes” ‘single’ «guillemets» — em–en‐hyphen… • §¶†‡ €£¥₹ ©®™ ≤≥≠∞∑√∫",
    "\x01\x02\x1b[0m\x7f\x85",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "abababababababababababababab",
    "=" * 37 + "-" * 41 + "#" * 9 + "*" * 13 + "_" * 20 + "." * 11,
    "ALL CAPS SHOUTING camelCaseWords snake_case_words kebab-case-words PascalCase",
    "Pneumonoultramicroscopicsilicovolcanoconiosis antidisestablishmentarianism",
    "▁▁ literal lower one eighth blocks ▁x ▁",
    "Ġ Ċ are letters of an alphabet of bytes: ĠHello Ċ",
    "<|im_start|>user\nhi<|im_end|>\n<|endoftext|>",
    "<start_of_turn>user\nhi<end_of_turn>\n<bos><eos><pad><unk><0x0A>",
    "[INST] hi [/INST] <s></s> [PAD151935] <tool_call>{}</tool_call>",
    "$E = mc^2$, \\frac{a}{b}, x_{i+1}^{2}, O(n \\log n)",
    "1+1=2;a&&b||c;!x?y:z;i++;j--;a=>b;c::d;e->f;@g;~h;`k`",
    "end with newline\n",
    "end with spaces   ",
)

_ATOMS = (
    *("the", "Hello", "don't", "running", "ÜBER", "naïve", "x", "42", "3.14", "2024-01-02"),
    *("\n", "\n\n", " ", "  ", "    ", "\t", "\r\n", ".", ",", "!?", "...", "(", ")", "{", "}"),
    *("日本", "中", "한국", "שלום", "مرحبا", "привет", "🙂", "👍🏽", "❤️", "é", "ß", "€", "½", "٣"),
    *("<b>", "</s>", "<|", "|>", "://", "==", "_", "-", "'s", '"', "\\n", "▁", "\u00a0", "\u3000"),
)


def samples(count: int, seed: int) -> list[str]:
    """The fixed texts, then mixtures, `count` in all."""
    chance = random.Random(seed)
    mixed = ["".join(chance.choices(_ATOMS, k=chance.randint(1, 25))) for _ in range(count)]
    return [*FIXED, *mixed][:count]
