from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vilfredo.base.errors import BadFile, InvalidInput
from vilfredo.text.budget import Budget
from vilfredo.text.template import ChatTemplate
from vilfredo.text.tokenizer import ModelTokenizer

CHAT = """\
{% for message in messages %}
<|start|>{{ message.role }}: {{ message.content }}<|end|>
{% endfor %}
{% if add_generation_prompt %}
<|start|>{% endif %}"""
same_fixture = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40
)
Make = Callable[[str], ChatTemplate]


@pytest.fixture
def make(byte_tokenizer: ModelTokenizer) -> Make:
    def build(source: str) -> ChatTemplate:
        names = {"bos_token": "<s>"}
        return ChatTemplate(
            source,
            byte_tokenizer,
            names,
            "file",
            now=lambda: datetime(2024, 5, 6),
            budget=lambda: Budget(steps=1000, characters=100_000),
        )

    return build


def user(content: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content}]


def render(make: Make, tokenizer: ModelTokenizer, source: str, messages: Any = None) -> str:
    tokens = make(source).encode(messages or user("hi"))
    return b"".join(tokenizer.piece(t) or tokenizer.name(t).encode() for t in tokens).decode()


contents = st.lists(
    st.one_of(
        st.sampled_from(["<|start|>", "<|end|>", "<s>", "<|", "|>", "<", "s>", "\U000f0000"]),
        st.text(max_size=3),
    )
).map("".join)


@same_fixture
@given(st.lists(contents, min_size=1, max_size=3))
def test_content_is_never_special(
    make: Make, byte_tokenizer: ModelTokenizer, texts: list[str]
) -> None:
    tokens = make(CHAT).encode([{"role": "user", "content": text} for text in texts])
    names = list(map(byte_tokenizer.name, tokens))
    assert names.count("<|start|>") == len(texts) + 1
    assert names.count("<|end|>") == len(texts)
    assert "<s>" not in names
    plain = byte_tokenizer.decode(tokens)
    assert plain == "".join(f"user: {text}\n" for text in texts)


@same_fixture
@given(st.lists(st.text(max_size=8), min_size=1, max_size=3))
def test_other_content_is_encoded_as_one_text(
    make: Make, byte_tokenizer: ModelTokenizer, texts: list[str]
) -> None:
    tokens = make(CHAT).encode([{"role": "user", "content": text} for text in texts])
    whole = "".join(f"<|start|>user: {text}<|end|>\n" for text in texts) + "<|start|>"
    if not any(special in text for text in texts for special in ("<s>", "<|")):
        assert tokens == byte_tokenizer.encode(whole, specials=True)


def test_special_tokens_do_not_form_across_borders(
    make: Make, byte_tokenizer: ModelTokenizer
) -> None:
    glued = make("{% for m in messages %}{{ m.content }}{% endfor %}")
    tokens = glued.encode([*user("<|"), *user("end|"), *user("><s"), *user(">")])
    assert byte_tokenizer.decode(tokens) == "<|end|><s>"


def test_roles_build_special_tokens(make: Make, byte_tokenizer: ModelTokenizer) -> None:
    assert render(make, byte_tokenizer, "{{ bos_token }}{{ messages[0].role }}") == "<s>user"


def test_ascii_json_hides_no_mark(make: Make, byte_tokenizer: ModelTokenizer) -> None:
    source = "{{ messages[0].content | tojson(ensure_ascii=True) }}"
    tokens = make(source).encode(user("<s>é"))
    assert byte_tokenizer.decode(tokens) == '"<s>\\u00e9"'
    assert "<s>" not in map(byte_tokenizer.name, tokens)


def test_content_that_spells_the_marks_escape_is_kept(
    make: Make, byte_tokenizer: ModelTokenizer
) -> None:
    content = r"\udb80\udc00"
    assert byte_tokenizer.decode(make(CHAT).encode(user(content))) == f"user: {content}\n"


def test_too_deep_a_nest_is_refused(make: Make) -> None:
    nest: list[Any] = []
    for _ in range(5000):
        nest = [nest]
    with pytest.raises(InvalidInput, match="nested too deeply"):
        make(TOOLS).encode(user("x"), [{"x": nest}])


def test_without_a_generation_prompt(make: Make, byte_tokenizer: ModelTokenizer) -> None:
    tokens = make(CHAT).encode(user("hello"), add_generation_prompt=False)
    names = list(map(byte_tokenizer.name, tokens))
    assert names[-3:] == ["hello", "<|end|>", "Ċ"] or names[-2:] == ["<|end|>", "Ċ"]


TOOLS = """\
{% if tools %}{{ tools | tojson }}{% endif %}
{% for m in messages %}{% for call in m.tool_calls or [] %}
{{ call.function.name }}({{ call.function.arguments.x }}){% endfor %}{% endfor %}"""


def test_tools_where_the_template_takes_them(make: Make, byte_tokenizer: ModelTokenizer) -> None:
    template = make(TOOLS)
    call = {"function": {"name": "f", "arguments": '{"x": "<s>"}'}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    tokens = template.encode(messages, [{"name": "<|end|>"}])
    assert template.takes_tools
    assert byte_tokenizer.decode(tokens) == '[{"name": "<|end|>"}]f(<s>)'
    assert not {"<s>", "<|end|>"} & set(map(byte_tokenizer.name, tokens))


def test_tools_are_refused_where_it_does_not(make: Make) -> None:
    template = make(CHAT)
    assert not template.takes_tools
    with pytest.raises(InvalidInput, match="tools: this model's chat template takes none"):
        template.encode(user("x"), [{"name": "f"}])
    assert template.encode(user("x"), []) == template.encode(user("x"))
    with pytest.raises(InvalidInput, match=r"messages\[0\].tool_calls: this model's"):
        template.encode([{"role": "assistant", "tool_calls": [{}]}])


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ strftime_now('%d %b %Y') }}", "06 May 2024"),
        ("{{ {'a': '<é>'} | tojson(indent=1) }}", '{\n "a": "<é>"\n}'),
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        ("{% generation %}{{ 1 + 1 }}{% endgeneration %}", "2"),
        ("{% if messages[0].name is defined %}x{% endif %}y", "y"),
        ("{{ 'a-b' | replace('-', '+') }}{{ 'a-b'.replace('-', '*', 1) }}", "a+ba*b"),
        ("{{ ['a', 'b'] | join(', ') }}{{ '-'.join(['a', 'b'] | map('upper')) }}", "a, bA-B"),
        ("{{ 'ab' * 2 }}{{ 2 * 'c' }}{{ [1] * 2 }}{{ 2 * 3 }}{{ 7 % 4 }}", "ababcc[1, 1]63"),
        ("{{ 'a'.upper() }}{{ 'a' ~ 1 ~ none }}{{ '{}-{:>3}'.format('x', 1) }}", "Aa1Nonex-  1"),
        ("{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f('a') }}{{ f(2) }}", "<a><2>"),
        ("  {% if true %}\n  x\n  {% endif %}\n", "  x\n"),
    ],
)
def test_speaks_the_dialect(
    make: Make, byte_tokenizer: ModelTokenizer, source: str, text: str
) -> None:
    assert render(make, byte_tokenizer, source) == text


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("{{ raise_exception('no system role') }}", "refuses: no system role"),
        ("{{ messages[0].content + 1 }}", "fails: TypeError"),
        ("{{ messages[0].a.b }}", "refuses: .*has no attribute 'a'"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "fails: RecursionError"),
        ("{{ ''.__class__.__mro__ }}", "refuses: access to attribute '__class__'"),
        ("{{ messages.append(1) }}", "refuses: .*not safely callable|refuses: access to"),
        ("{% for i in range(999999) %}{% endfor %}", "fails: OverflowError"),
        (
            "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
            "too many steps",
        ),
        (
            "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
            "{{ f(60) }}",
            "too many steps",
        ),
        ("{{ 'a' * 99999999 }}", "too much text"),
        ("{{ 99999999 * 'a' }}", "too much text"),
        ("{{ [1] * 99999999 }}", "too much text"),
        (
            "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}"
            "{% endfor %}",
            "too much text",
        ),
        (
            "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}"
            "{% endfor %}",
            "too much text",
        ),
        (
            "{% set n = namespace(x='ab') %}{% for i in range(99) %}"
            "{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}{% endfor %}",
            "too much text",
        ),
        (
            "{% set n = namespace(x=9) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}"
            "{% endfor %}",
            "too large a number",
        ),
        ("{{ ('a' * 9999).replace('a', 'b' * 9999) }}", "too much text"),
        ("{{ ('a' * 9999) | replace('a', 'b' * 9999) }}", "too much text"),
        ("{{ ('b' * 9999).join('a' * 9999) }}", "too much text"),
        ("{{ ('a' * 9999) | join('b' * 9999) }}", "too much text"),
        ("{{ 2 ** 9 }}", r"\*\* is not allowed"),
        ("{{ '%9999999d' % 1 }}", "% is not allowed"),
        ("{{ 'a'.center(9999999) }}", "refuses"),
        ("{{ 'a'.encode() * 9999999 }}", "refuses"),
        ("{{ (1).to_bytes(9999999, 'big') }}", "refuses"),
        ("{{ lipsum(n=9999999) }}", "'lipsum' is undefined"),
        ("{% include 'other' %}", "fails: TypeError: no loader"),
        ("{{ '{:>9999999}'.format(1) }}", "refuses"),
        ("{{ [] | tojson(indent=9999999) }}", "an indent must be a number up to 16"),
        ("{{ [] | tojson(indent='x') }}", "an indent must be a number up to 16"),
    ],
)
def test_a_template_that_misbehaves_gets_nowhere(make: Make, source: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint) as caught:
        make(source).encode(user("x"))
    assert caught.value.field == "messages"


@pytest.mark.parametrize(
    "source",
    [
        "{% for %}",
        "{{ 'a' | center(99) }}",
        "{% generation %}",
        "{{ " + "(" * 5000 + ")" * 5000 + " }}",
        "x" * 1_000_001,
    ],
)
def test_a_template_that_does_not_compile_is_a_bad_file(make: Make, source: str) -> None:
    with pytest.raises(BadFile, match="file: the chat template"):
        make(source)
