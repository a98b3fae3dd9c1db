"""No link, image or HTML outlives an answer: judged by a real Markdown parser."""

import random
import re
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ragkit.answer.write.links import Cleaning, _Breaking, remove_links, sanitise_pieces
from ragkit.types import Draft, Hit, Reasoning
from tests.growth import grows_linearly

NAMES = ("b", "br", "code", "em", "i", "kbd", "strong", "sub", "sup", "u")
INERT = {"<br/>", *(f"<{name}>" for name in NAMES), *(f"</{name}>" for name in NAMES)}


def hit(text: str, uri: str = "h.md") -> Hit:
    return Hit(1, 1, uri, "", None, 0, len(text), text, 1.0)


def live(text: str) -> list[str]:
    """Name what a parser makes of a text that could be followed, loaded or run."""
    return [
        token.content or token.type
        for token in _tokens(MarkdownIt("commonmark").enable("table").parse(text))
        if token.type in ("link_open", "image")
        or (token.type.startswith("html_") and not INERT.issuperset(_tags(token.content)))
    ]


def _tags(html: str) -> list[str]:
    """Every place in raw HTML where a browser would begin a tag, up to the tag's end."""
    return [found[0].lower() for found in re.finditer(r"<[A-Za-z/!?][^>]*>?", html)]


def _tokens(tokens: Iterable[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _tokens(token.children or ())


def test_the_judge_sees_what_is_live() -> None:
    for text in ("[a](http://x)", "![a](x)", "<http://x>", "<img src=x>", "[a]\n\n[a]: x", "<b x>"):
        assert live(text), text
    assert not live("a <b>c</b> [a] http://x")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("See [the page](https://evil.example/?q=x).", "See the page."),
        ("See ![a chart](https://evil.example/a.png) here", "See a chart here"),
        ("![](//evil.example/a)", ""),
        ("[![a](http://x/i.png)](http://x/l) b", "[a] b"),
        ("![logo][ref]\n\n[ref]: https://evil.example/a", "logo[ref]\n\n"),
        ('[ref]: <https://evil.example/a> "title"', ' "title"'),
        ("[1]: https://evil.example/a\nIt is so [1].", "[1]\nIt is so [1]."),
        ("[1]: it is so", "[1] : it is so"),
        ("Go to <https://evil.example/a>!", "Go to …!"),
        ("Go to https://evil.example/a, now", "Go to …, now"),
        ("(www.evil.example?secret)", "(…)"),
        ("evil.com/secret and evil.com:80?x", "… and …"),
        ("a <img src=x onerror=y> b", "a   b"),
        ("a <IMG\nSRC='//x'> b", "a   b"),
        ("<script>x</script>", " x "),
        ("<svg/onload=x>", " "),
        ("<b onclick=x>", "< b onclick=x>"),
        ("H<sub>2</sub>O<br>", "H<sub>2</sub>O<br>"),
        ("List<String> a<b a < b x>y", "List< String> a< b a < b x>y"),
        ("javascript:alert(1) data:text/html,x", "…) …"),
        ("https&#58;//evil.example", "https＆#58;//evil.example"),
        ("https\\://evil.example", "…"),
        ("ｈｔｔｐｓ：／／ｅｖｉｌ．example/a", "…"),
        ("[a](http&#58;&#47;&#47;evil.example)", "a"),
        ("[a](%68ttps://evil.example)", "a"),
        ("[a](&#x2f;/evil.example)", "a"),
        ("handlers[i](event) and x[1:]: y", "handlers[i] (event) and x[1:] : y"),
        ("![a](logout)", "a(logout)"),
        ("AT&T &amp; R&D; 5 < 6 > 4", "AT&T &amp; R＆D; 5 < 6 > 4"),
        ("员工有25天年假[1]。见[网页](https://evil.example/a)。", "员工有25天年假[1]。见网页。"),
        ("Hello![1] [1](https://evil.example) 【2】", "Hello![1] [1] 【2】"),
        (
            '{"a": [1, 2], "b": ["x"], "c": {"d": "e"}}',
            '{"a": [1, 2], "b": ["x"], "c": {"d": "e"}}',
        ),
        (
            "`code` **bold** _it_ | a | b |\n# head\n- x",
            "`code` **bold** _it_ | a | b |\n# head\n- x",
        ),
        (
            "9:30, a/b, ratio 3:2, src/main.py, e.g. this, v1.2",
            "9:30, a/b, ratio 3:2, src/main.py, e.g. this, v1.2",
        ),
        ("", ""),
    ],
)
def test_only_the_text_of_a_link_is_left(text: str, left: str) -> None:
    assert remove_links(text) == left
    assert live(left) == []


SOURCE = hit(
    "See (https://intranet.example/leave?year=2024), or http://a.example/b.", "https://u.example/h"
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "At https://intranet.example/leave?year=2024.",
            "At https://intranet.example/leave?year=2024.",
        ),
        ("At <https://u.example/h>", "At https://u.example/h"),
        ("见http://a.example/b。谢谢", "见http://a.example/b 。谢谢"),
        ("http://a.example/b机密secret", "http://a.example/b 机密secret"),
        ("http://a.example/b/secret", "…"),
        ("http://a.example/", "…"),
        ("HTTP://A.example/b", "…"),
        ('"http://a.example/b"secret', '"http://a.example/b "secret'),
        ("![x](http://a.example/b)", "x"),
        ("[http://a.example/b](http://evil.example/)", "http://a.example/b"),
    ],
)
def test_a_bare_url_stays_only_as_a_source_has_it(text: str, left: str) -> None:
    assert remove_links(text, [SOURCE]) == left


PARTS = [
    "[",
    "]",
    "(",
    ")",
    "!",
    "<",
    ">",
    ":",
    "/",
    "\\",
    "&",
    "#",
    ";",
    '"',
    "'",
    " ",
    "\n",
    "`",
    "*",
    "a",
    "b",
    "img",
    "https",
    "http://",
    "//",
    "www.",
    "evil.com",
    "data:",
    "javascript:",
    "src=x",
    "](",
    "]:",
    "![",
    "](http://evil.example/x)",
    "[a]: http://x\n",
    "<img ",
    "<http://x>",
    "<b>",
    "&#58;",
    "&lt;",
    "58;",
    "&#",
    "[1]",
    "[9]",
    "年",
    "。",
    "＜",
    "：",
    "／",
    "\t",
    "    ",
    "<!--",
    "-->",
    "<a href=x>",
    "</a>",
    "<script>",
    "|",
    "-",
    "~",
    "[a](b)",
    "http://a.example/b",
    "<?",
    "<![CDATA[",
    "^a@evil.example",
]
HOSTILE = st.lists(st.sampled_from(PARTS), max_size=16).map("".join)


@given(HOSTILE)
@example("[ht](http://x)tps://evil.example")
@example("[<](http://x)img src=http://y>")
@example("&#[58](http://x);")
@example("][9](http://x)")
@example("<9@x.example>")
@example("<^<a@x.example>x>")
def test_no_text_leaves_anything_live(text: str) -> None:
    once = remove_links(text)
    assert live(once) == [], once
    assert not re.search(r"http://evil|(?<![a-z0-9])www\.[a-z]", once)
    breaking = _Breaking([])
    alone = breaking.take(text) + breaking.end()
    assert live(alone) == [], alone  # it does not need what goes before it
    cleaned = joined([text])
    assert live(cleaned) == [], cleaned


def joined(pieces: Iterable[str]) -> str:
    cleaning = Cleaning([SOURCE] * 3)
    return "".join([*(cleaning.take(piece) for piece in pieces), cleaning.end()])


@given(HOSTILE, st.lists(st.integers(0, 80), max_size=5))
def test_any_text_cut_anyhow_gives_the_same(text: str, at: list[int]) -> None:
    cuts = sorted(min(cut, len(text)) for cut in at)
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole = joined([text])
    assert joined(pieces) == whole
    assert joined(text) == whole  # character by character


def test_long_random_texts_too() -> None:
    chance = random.Random(7)
    for _ in range(100):
        text = "".join(chance.choices([*PARTS, "long " * 90, "x" * 700], k=30))
        whole = joined([text])
        assert joined(text) == whole
        assert live(whole) == []


def test_draft_and_pieces_say_the_same_and_reasoning_passes() -> None:
    pieces = ["See [the", " page](http://x) [9", "][1]"]
    *said, draft = sanitise_pieces([Reasoning("hm"), *pieces, Draft("".join(pieces))], [SOURCE])
    assert said == [Reasoning("hm"), "See the ", "page [1]"]
    assert draft == Draft("See the page [1]")


@pytest.mark.parametrize(
    "unit", ["[", "]", "](", "<", "<a ", "&#", "![", "[a](", "[a]:", "www.", "a", "http://"]
)
def test_hostile_texts_take_time_in_proportion(unit: str) -> None:
    assert grows_linearly(lambda size: joined([unit] * (size // len(unit))), 16_000)
    assert grows_linearly(lambda size: joined([unit * (size // len(unit)) + " "]), 16_000)
