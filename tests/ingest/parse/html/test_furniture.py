"""HTML: what a site puts around and between a text goes; a text that looks like it stays."""

import pytest

from ragkit.types import ParsedText
from ragkit_ingest.parse import ParseOptions, parse_bytes

PROSE = "The radar gauge measures the level of a liquid without touching it, and needs no care. "
CARE = (
    "Clean its antenna once a year with a soft cloth, and check that the seal of the lid is dry. "
)
CHINESE = "雷达液位计无需接触液体即可测量液位,安装之后不需要任何维护,每年用软布清洁一次天线即可。"
LANGUAGES = "de es fr it nl pl pt sv tr zh ja ko ru uk el hu cs da fi no".split()
NAMES = ("Home", "Products", "Service", "News", "Company", "Contact")
CHINESE_NAMES = ("首页", "产品中心", "服务支持", "新闻动态", "关于我们", "联系我们")


def parse(page: str) -> ParsedText:
    return parse_bytes(page.encode(), ".html", ParseOptions(unzipped_bytes=1 << 20))


def links(*names: str, tag: str = "div") -> str:
    return "".join(f'<{tag}><a href="/{n}">{name}</a></{tag}>' for n, name in enumerate(names))


def languages(attribute: str) -> str:
    items = (
        f'<li><a href="https://{code}.example.org/x" {attribute}="{code}">In {code}</a></li>'
        for code in LANGUAGES
    )
    return f"<div><label>20 languages</label><div><ul>{''.join(items)}</ul></div></div>"


@pytest.mark.parametrize("attribute", ["hreflang", "lang"])
def test_a_list_of_the_pages_languages_is_no_text(attribute: str) -> None:
    text = f"<p>{PROSE}</p><p>{CARE * 2}</p>"
    parsed = parse(f"<main><h1>Gauge</h1>{languages(attribute)}<div>{text}</div></main>")
    assert parsed.text == f"# Gauge\n\n{PROSE.strip()}\n\n{(CARE * 2).strip()}\n"


@pytest.mark.parametrize(
    "heading",
    [
        '<h2>Care<span class="mw-editsection">[<a href="/w?action=edit">edit</a>]</span></h2>',
        '<div><h2>Care</h2><span>[<a href="/w?title=x&amp;action=edit&amp;section=1">edit</a>]'
        "</span></div>",
        '<h2>Care [<a href="/w?action=edit">Bearbeiten</a> | <a href="/w?veaction=edit">Quelltext'
        "</a>]</h2>",
        '<h2>Care<a class="headerlink" href="#care">¶</a></h2>',
        '<div><h2>Care</h2><div><a href="/e">Edit</a></div></div>',
    ],
)
def test_what_edits_or_marks_a_section_is_no_text(heading: str) -> None:
    parsed = parse(f"<main><h1>Gauge</h1><p>{PROSE}</p>{heading}<p>{CARE}</p></main>")
    assert parsed.text == f"# Gauge\n\n{PROSE.strip()}\n\n## Care\n\n{CARE.strip()}\n"


def test_a_link_to_a_page_that_is_not_written_yet_is_text() -> None:
    red = '<a class="new" href="/w?title=Ann&amp;action=edit&amp;redlink=1">Ann Example</a>'
    assert parse(f"<p>The gauge was made by {red} and others.</p>").text == (
        "The gauge was made by Ann Example and others.\n"
    )


@pytest.mark.parametrize(
    "box",
    [
        '<a href="#content">Jump to content</a>',
        '<div role="navigation"><table><tr><th>Gauges</th><td><a href="/a">Radar</a></td></tr>'
        "</table></div>",
        f'<div class="navbox"><table><tr><td>{links(*NAMES)}</td></tr></table></div>',
        "<table>"
        + "".join(f"<tr><th>Kind {n}</th><td>{links(*NAMES)}</td></tr>" for n in range(4))
        + "</table>",
        f'<div id="toc"><h2>Contents</h2><ul>{links("Parts", "Repair", tag="li")}</ul></div>',
        '<table class="sidebar"><tr><th>Series on gauges<tr><td><a href="/r">Radar</a></table>',
        '<div class="hatnote">For other uses, see <a href="/b">Gauge (rail)</a>.</div>',
        f'<div id="catlinks">Categories: {links("Tools", "Levels", "Radar")}</div>',
        f'<div class="related-posts"><h3>Related</h3>{links("Pumps", "Valves")}</div>',
        f"<div><div>You may also like</div>{links('Pumps', 'Valves')}<div>9 €</div></div>",
        "<div>© 2026 Example Works. All rights reserved.</div>",
        '<div><a href="/">Board</a> › <a href="/w">Workshop</a></div>',
        '<div><a href="/p">Previous</a> | <a href="/n">Next</a></div>',
        '<div class="modal"><p>Choose a country</p><p>Choose a language</p></div>',
        '<ul class="post-tags"><li><a href="/r">radar</a></li></ul>',
        '<form><label>E-mail</label><input type="email"><label>Name</label></form>',
        '<form><p>Your account</p><input type="password"><a href="/l">Lost it?</a></form>',
        "<div><p>We use cookies to measure how our pages are read. Accept them?</p></div>",
        f'<p>Read more: <a href="/valves">Valves for acids, {"and other fluids, " * 3}</a></p>',
        '<p>延伸阅读:<a href="/valves">无需维护的阀门产品介绍</a></p>',
        '<section class="promo"><p><a href="/valves">Valves</a> at half the price</p></section>',
        '<div class="footer-wrap"><p>Example Works, Mill Lane 4, Sampletown</p></div>',
        f"<div><h3>Topics</h3><ul>{links('Pumps', 'Valves', tag='li')}</ul></div>",
        '<p><img alt="gauge-front_2.jpg"></p>',
        '<p><img alt="IMG_2953"></p>',
        "<p>Was this page helpful?</p>",
        '<div><a href="/edit">Edit this page</a></div>',
        f'<div class="newsletter"><h3>News</h3><p>{PROSE}</p><button>Sign up</button></div>',
        f'<div><h2>Latest stories</h2><h4><a href="/a">Acid</a></h4><p>{PROSE}</p>'
        f'<h4><a href="/b">Brine</a></h4><p>3 May</p><p>{PROSE}</p></div>',
        "<p>声明:本网转载此文目的在于传递更多信息。</p>",
        "<p>关于我们 | 联系我们</p><p>京ICP备00000000号</p>",
    ],
)
def test_boxes_that_belong_to_the_site_go_wherever_they_stand(box: str) -> None:
    text = f"<p>{PROSE}</p>{{}}<h2>Care</h2><p>{CARE * 4}</p>"
    expected = f"# Gauge\n\n{PROSE.strip()}\n\n## Care\n\n{(CARE * 4).strip()}\n"
    assert parse(f"<main><h1>Gauge</h1>{text.format(box)}</main>").text == expected
    assert parse(f"<main><h1>Gauge</h1>{text.format('')}{box}</main>").text == expected


SOUP = """<html><head><title>{title}</title></head><body><div class="a"><div class="b">{menu}</div>
<div class="c"><div class="d"><div>{side}</div>{links}</div><div class="e"><div class="f">{title}
</div>{text}</div></div><div class="g"><div>{foot}</div><div><a href="/i">I</a> | <a href="/p">P</a>
</div></div></div></body></html>"""


@pytest.mark.parametrize(
    ("names", "title", "sentence", "side", "foot"),
    [
        (NAMES, "Radar gauges", PROSE, "Most read", "Example Works, Sampletown"),
        (CHINESE_NAMES, "雷达液位计", CHINESE, "热门文章", "示例公司 京ICP备00000000号"),
    ],
    ids=["English", "Chinese"],
)
def test_a_page_of_nothing_but_divs_gives_its_text(
    names: tuple[str, ...], title: str, sentence: str, side: str, foot: str
) -> None:
    text = "".join(f"<div>{sentence * 3}</div>" for _ in range(3))
    menu = links(*names)
    page = SOUP.format(title=title, menu=menu, side=side, links=menu, text=text, foot=foot)
    paragraph = (sentence * 3).strip()
    assert parse(page).text == f"{title}\n\n{paragraph}\n\n{paragraph}\n\n{paragraph}\n"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (f"<main><p>{PROSE * 2}</p><ul>{links(*NAMES, tag='li')}</ul></main>", "- Company"),
        (f"<main><p>{PROSE * 2}</p><p>The forms:</p><div>{links(*NAMES)}</div></main>", "Company"),
        (f"<main><p>{PROSE * 2}</p><div><h2>Forms</h2>{links(*NAMES)}</div></main>", "Company"),
        (f'<div><div class="social-embed"><p>{CARE}</p></div><p>{PROSE * 2}</p></div>', CARE),
        (f'<div id="sidebar"><p>{CARE * 3}</p></div><div><p>{PROSE}</p></div>', CARE * 3),
        (f'<div class="comment"><p>{CARE}</p></div>' * 2 + f"<p>{PROSE}</p>", CARE),
        (
            f"<h1>Services</h1><p>{PROSE * 2}</p>"
            + "".join(
                f'<div><h3><a href="/{n}">Service {n}</a></h3><p>We do {n}.</p></div>'
                for n in range(4)
            ),
            "### Service 3\n\nWe do 3.",
        ),
        (
            f"<div><h1>Contact</h1><div>Mill Lane 4</div><div>Telephone: 01234</div></div>"
            f"<p>{PROSE * 2}</p>",
            "Mill Lane 4\n\nTelephone: 01234",
        ),
        (f"<p>ACME works</p><p>Form 12</p><h1>Leave</h1><p>{PROSE * 2}</p>", "Form 12"),
        (
            f"<p>{PROSE * 2}</p><dl><dt>Copyright law</dt><dd>x</dd><dt>Close</dt></dl>",
            "Close",
        ),
        (
            "<article><section><h2>Parts</h2><ul>"
            + "".join(f"<li>{n} seals of rubber</li>" for n in range(2, 9))
            + f"</ul></section><section><h2>Steps</h2><p>{PROSE * 4}</p><p>{CARE * 4}</p></section>"
            "</article>",
            "- 8 seals of rubber",
        ),
        (f"<p>{PROSE * 2}</p><h2>Search</h2><p>Finds words.</p>", "## Search\n\nFinds"),
        (
            f"<p>{PROSE * 2}</p><table>"
            + "".join(f'<tr><td><a href="/{n}">Form {n}</a><td>PDF' for n in range(9))
            + "</table><p>End.</p>",
            "| Form 8 | PDF |",
        ),
        (
            f"<div><h2>Is it dry?</h2></div><table><tr><th>Author<th>Text<tr><td>Ann<td>{PROSE * 4}"
            f"<tr><td>Bo<td>{CARE * 4}</table>",
            "## Is it dry?",
        ),
        (f"<div>{PROSE * 2}</div>" + "<div>Yes, 4 €.</div>" * 2, "Yes, 4 €.\n\nYes, 4 €."),
        (f'<div class="social-embed"><p>Dry!</p></div><p>{PROSE * 2}</p>', "Dry!"),
        (f'<div class="teaser"><p>{PROSE}<a href="/x">More</a></p></div><p>{CARE * 6}</p>', PROSE),
        (f'<form><input type="email"><h1>Gauge</h1><p>{PROSE * 2}</p></form>', PROSE * 2),
        (f'<p>{PROSE * 2}</p><p>See also: <a href="/valves">Valves</a></p>', "See also: Valves"),
        (f'<p>{PROSE}</p><div class="comment"><p>{CARE * 4}</p></div>', CARE * 4),
        (
            f"<div><p>{PROSE * 4}</p></div><div><h2>Related work</h2><p>{CARE}</p>"
            f"<ul>{links('Gauges', 'Tanks', tag='li')}</ul></div>",
            CARE,
        ),
        (f'<h1>Years</h1><p>{PROSE * 2}</p><p><img alt="2023"> was dry.</p>', "2023 was dry."),
    ],
    ids=[
        *("list after a text", "sentence before links", "heading over links", "embedded post"),
        *(
            "most of it",
            "comments only",
            "cards",
            "address",
            "letterhead",
            "terms",
            "list beside a text",
            "section",
            "table of links",
            "heading before a table",
            "repeated answer",
            "short embedded post",
            "lead",
            "form around a page",
            "see also",
            "answer to a question",
            "related work",
            "number in a picture",
        ),
    ],
)
def test_a_text_that_looks_like_furniture_stays(page: str, text: str) -> None:
    assert text.strip() in parse(page).text


def test_buttons_are_set_apart() -> None:
    page = "<form>Quantity<input><button>Add it</button><button>Buy it</button>now</form>"
    assert parse(page).text == "Quantity Add it Buy it now\n"


def test_a_picture_says_nothing_that_its_caption_says_too() -> None:
    figure = '<figure><img alt="A gauge"><figcaption>A gauge on a tank</figcaption></figure>'
    parsed = parse(f'<p>{PROSE * 2}</p>{figure}<div><img alt="A lid"></div>')
    assert parsed.text == f"{(PROSE * 2).strip()}\n\nA gauge on a tank\n\nA lid\n"


def test_a_picture_says_nothing_twice_on_a_short_page_either() -> None:
    figure = '<figure><a href="/g"><img alt="A gauge."></a></figure>'
    assert parse(f"{figure}{figure}<p>Dry.</p>").text == "A gauge.\n\nDry.\n"
    caption = "<figcaption>A Gauge: how it looks</figcaption>"
    parsed = parse(f"<figure>{figure}<b>6</b>{caption}</figure>")
    assert parsed.text == "6\n\nA Gauge: how it looks\n"


def test_what_asks_for_cookies_is_no_text_where_the_rest_stands_in_a_frame() -> None:
    notice = "Diese Webseite verwendet Cookies, um Dienste bereitzustellen. " * 2
    assert parse(f"<div class='sidebar'><p>{PROSE}</p></div><p>{notice}</p>").text == (
        f"{PROSE.strip()}\n"
    )


def test_comments_below_an_article_go_though_they_are_longer() -> None:
    comments = f'<ol id="comments">{f"<li><p>{PROSE * 3}</p></li>" * 40}</ol>'
    text = f"<h1>Gauge</h1><p>{CARE * 5}</p><p>{CARE * 5}</p>"
    assert parse(f"<article>{text}{comments}</article>").text == (
        f"# Gauge\n\n{(CARE * 5).strip()}\n\n{(CARE * 5).strip()}\n"
    )


def test_comments_by_the_author_between_a_page_s_pictures_stay() -> None:
    pictures = f'<div><h2>A tank</h2><p class="comment">{PROSE * 3}</p></div>' * 9
    assert parse(f"<h1>Tanks</h1><p>{CARE * 10}</p>{pictures}").text.count("## A tank") == 9


def test_teasers_below_an_article_go_though_they_are_longer() -> None:
    cards = "".join(
        f'<li><h5><a href="/{n}">Story {n}</a></h5><p>{PROSE}</p></li>' for n in range(20)
    )
    page = f"<main><h1>Gauge</h1><p>{CARE * 18}</p><div><ul>{cards}</ul></div></main>"
    assert parse(page).text == f"# Gauge\n\n{(CARE * 18).strip()}\n"


def test_a_page_with_more_news_than_text_loses_its_menus_all_the_same() -> None:
    news = "".join(f'<li><a href="/{n}">Story {n}</a> {PROSE}</li>' for n in range(20))
    page = f"<div><div>{links(*NAMES)}</div><h1>Gauge</h1><p>{CARE * 4}</p><ul>{news}</ul></div>"
    assert "Company" not in parse(page).text


def test_a_link_that_stands_there_again_and_again_is_a_button() -> None:
    posts = (f'<div><p>{n}. {PROSE}</p><a href="#{n}">Antworten</a></div>' for n in range(3))
    assert "Antworten" not in parse(f"<div>{''.join(posts)}</div>").text


def test_a_heading_whose_links_go_goes_with_them() -> None:
    related = f"<h2>More stories</h2><ul>{links(*NAMES, tag='li')}</ul>"
    parsed = parse(f"<main><h1>Gauge</h1><p>{PROSE * 2}</p>{related}</main>")
    assert parsed.text == f"# Gauge\n\n{(PROSE * 2).strip()}\n"
