"""Passages as people read them: tables and headings without signs, marks where they belong."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ragkit_serve.page.words import WORDS
from tests.serve.browser.test_page import answered, ask, tab

pytestmark = pytest.mark.browser
EN = WORDS["en"]
HOTELS = "What is the limit for a hotel night in Dublin in 2026?"

# Redraws a text whose characters from `start` to `end` are marked; returns HTML and what is marked.
READABLE = """async ([text, start, end, uri]) => {
  const { readable } = await import("/ui/static/reading.js");
  const { make } = await import("/ui/static/dom.js");
  const mark = make("mark", {}, text.slice(start, end));
  const element = readable(make("div", {}, text.slice(0, start), mark, text.slice(end)), uri);
  const marked = [...element.querySelectorAll("mark")].map((one) => one.textContent).join("");
  return [element.innerHTML.replace(/<\\/?mark>/g, ""), marked];
}"""
TABLE = "| Place | Limit |\n|---|---|\n| Dublin | €165 |\n| A \\| B | **2** |"
ROWS = (
    '<div class="rk-rows"><table><tbody><tr><th> Place </th><th> Limit </th></tr>'
    "<tr><td> Dublin </td><td> €165 </td></tr>"
    "<tr><td> A | B </td><td> <strong>2</strong> </td></tr></tbody></table></div>"
)


@pytest.mark.parametrize(
    ("text", "quote", "uri", "html", "marked"),
    [
        (f"Limits:\n\n{TABLE}\n\nEnd.", "| Dublin | €165 |", "a.md", None, " Dublin  €165 "),
        (f"{TABLE}", "Dublin", "a.md", ROWS, "Dublin"),
        ("# Leave\n\nYou have **26 days**.", "have **26 days**", "a.md", None, "have 26 days"),
        ("# Leave\nUse `a` b", " b", "a.md", "<strong>Leave</strong>\nUse <code>a</code> b", " b"),
        ("See [the list](http://x.example/a) now", "list", "a.md", None, "list"),
        (
            "# a comment\n| no | table |",
            "comment",
            "a.py",
            "# a comment\n| no | table |",
            "comment",
        ),
        ("```\n# code\n| a | b |\n```", "code", "a.md", "```\n# code\n| a | b |\n```", "code"),
        ("<b>x</b> <img src=x onerror=alert(1)>", "b>x", "a.md", None, "b>x"),
        ("… 42 | 50 |\n| a | b | c |", "50", "a.md", None, "50"),
    ],
)
def test_signs_are_left_out_and_marks_stay(
    open_page: Any, text: str, quote: str, uri: str, html: str | None, marked: str
) -> None:
    start = text.index(quote)
    shown, over = open_page().evaluate(READABLE, [text, start, start + len(quote), uri])
    assert over == marked
    assert "<img" not in shown
    assert "**" not in shown
    if html is not None:
        assert shown == html


def about_hotels(messages: Any) -> str:
    """Cite the source that has the table, wherever it stands in the prompt."""
    source = r"<source id=\"(\d+)\"[^<>]*>\n(?:(?!</source>).)*€165"
    found = re.search(source, str(messages[-1]["content"]), re.DOTALL)
    assert found is not None
    return f"In Dublin the limit is €165 in 2026 [{found[1]}]."


def test_a_cited_row_is_a_row_of_a_table_in_the_panel(open_page: Any, site: Any) -> None:
    site.says = about_hotels
    page = open_page()
    ask(page, HOTELS)
    answered(page).locator(".rk-cite").first.click()
    page.wait_for_selector("#rk-panel .rk-passage table")
    assert page.locator("#rk-panel th").all_inner_texts() == ["Place", "Limit 2025", "Limit 2026"]
    assert "|" not in page.inner_text("#rk-panel .rk-passage")
    assert "# " not in page.inner_text("#rk-panel .rk-passage")


def test_a_search_result_opens_its_place_in_the_document(open_page: Any, site: Any) -> None:
    page = open_page()
    tab(page, 2)
    page.fill("#rk-query", HOTELS)
    page.keyboard.press("Enter")
    page.wait_for_selector(".rk-result")
    shown = page.inner_text("#rk-hits")
    assert "|" not in shown
    assert "## " not in shown
    found = page.locator(".rk-result", has_text="Dublin").first
    words = found.locator(".rk-found").inner_text().split()
    name = found.locator(".rk-from button")
    name.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#rk-panel .rk-span")
    assert page.inner_text("#rk-panel h2") == name.inner_text()
    marked = " ".join(page.locator("#rk-panel .rk-span").all_inner_texts()).split()
    assert set(words) <= set(marked)
    page.keyboard.press("Escape")
    assert page.locator("#rk-panel").is_hidden()
    assert page.evaluate("document.activeElement.title") == EN["open_passage"]
    found.locator(".rk-found").click()
    page.wait_for_selector("#rk-panel .rk-span")


def test_a_place_that_is_not_there_is_refused(open_page: Any, site: Any) -> None:
    page = open_page()
    (first, *_) = page.request.get(f"{site.url}/ui/documents/default").json()["documents"]
    where = f"{site.url}/ui/passages/{first['id']}"
    size, version = first["chars"], first["version"]
    for query, status in (
        (f"version={version}&start=0&end={size}", 200),
        (f"version={version}&start=0&end={size + 1}", 400),
        (f"version={version}&start=5&end=5", 400),
        (f"version={version + 1}&start=0&end=5", 404),
    ):
        assert page.request.get(f"{where}?{query}").status == status
    assert page.request.get(f"{site.url}/ui/passages/999?version=1&start=0&end=5").status == 404
