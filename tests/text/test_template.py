from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vilfredo.base.errors import BadFile, InvalidInput
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


def user(content: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content}]


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


def test_templates_build_special_tokens(make: Make, byte_tokenizer: ModelTokenizer) -> None:
    tokens = make("{{ bos_token }}<{{ 's' }}>").encode(user("hi"))
    assert list(map(byte_tokenizer.name, tokens)) == ["<s>", "<s>"]


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
    assert names[-3:] == ["Ġhello", "<|end|>", "Ċ"]


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
