from collections.abc import Callable

import pytest

from vilfredo.base.errors import InvalidInput
from vilfredo.text.template import ChatTemplate
from vilfredo.text.tokenizer import ModelTokenizer

Make = Callable[[str], ChatTemplate]
HELLO = [{"role": "user", "content": "hi"}]


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
    assert byte_tokenizer.decode(make(source).encode(HELLO)) == text


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
        make(source).encode(HELLO)
    assert caught.value.field == "messages"
