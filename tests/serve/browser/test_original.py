"""The original page of a cited PDF in a real browser: where the marks are, and how it is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pypdfium2
import pytest

from ragkit.testing.stub_server.server import Reply
from ragkit_serve.page.words import WORDS
from tests.serve.browser.conftest import HANDBOOK
from tests.serve.browser.test_page import answered, ask, no_sideways, until

pytestmark = pytest.mark.browser
EN, ZH = WORDS["en"], WORDS["zh"]
MANUAL: Final = HANDBOOK / "rl-400-manual.pdf"
QUESTION: Final = "How is the RL-400 installed and calibrated?"
SHOWN: Final = "document.querySelector('.rk-sheet:not(.rk-waiting) img')?.complete"
Box = dict[str, float]


def open_original(page: Any, question: str = QUESTION) -> None:
    """Ask about the manual and open the first source, with its page."""
    ask(page, question)
    answered(page).locator(".rk-source").first.click()
    until(page, SHOWN)


def box(page: Any, selector: str) -> Box:
    found: Box = page.locator(selector).first.bounding_box()
    return found


def shares(page: Any) -> list[tuple[float, float, float, float]]:
    """Return the marks as the browser lays them over the page: left, top, right, bottom."""
    sheet = box(page, ".rk-sheet")
    return [
        (
            (mark["x"] - sheet["x"]) / sheet["width"],
            (mark["y"] - sheet["y"]) / sheet["height"],
            (mark["x"] + mark["width"] - sheet["x"]) / sheet["width"],
            (mark["y"] + mark["height"] - sheet["y"]) / sheet["height"],
        )
        for mark in (one.bounding_box() for one in page.locator(".rk-sheet .rk-mark").all())
    ]


def cited(site: Any) -> Sequence[Any]:
    stored = site.services.library.conversations(site.caller())
    (turn,) = stored.turns(stored.all()[0].id)
    return [citation for citation in turn.citations if citation.n == turn.citations[0].n]


def middles(number: int, quoted: str) -> tuple[list[tuple[float, float]], int]:
    """Return where pdfium's own search finds the first words of a quotation on a page."""
    with pypdfium2.PdfDocument(MANUAL) as document:
        page = document[number - 1]
        width, height = page.get_size()
        textpage = page.get_textpage()
        first = " ".join(quoted.split()[:3])
        place = textpage.search(first).get_next()
        assert place is not None, f"{first!r} is on page {number}"
        boxes = [textpage.get_charbox(place[0] + n) for n in range(len(first))]
        shown = [(b[0] + b[2]) / 2 for b in boxes], [(b[1] + b[3]) / 2 for b in boxes]
        return [(x / width, 1 - y / height) for x, y in zip(*shown, strict=True)], len(document)


def test_the_marks_lie_over_the_cited_lines(open_page: Any, site: Any) -> None:
    page = open_page()
    open_original(page)
    (first, *_) = cited(site)
    places, pages = middles(first.page, first.quote)
    marks = shares(page)
    assert marks
    for x, y in places:
        assert any(a <= x <= c and b <= y <= d for a, b, c, d in marks), (x, y, marks)
    assert all(bottom - top < 0.05 for _, top, _, bottom in marks), "a mark is a line"
    assert page.inner_text(".rk-told") == EN["original_marked"]
    assert page.inner_text(".rk-pages span") == EN["original_page"].format(
        page=first.page, pages=pages
    )
    natural = page.evaluate(
        "(({ naturalWidth: w, naturalHeight: h }) => w / h)"
        "(document.querySelector('.rk-sheet img'))"
    )
    sheet = box(page, ".rk-sheet")
    assert abs(sheet["width"] / sheet["height"] - natural) < 0.01, "the picture is not stretched"


def test_the_page_stands_beside_the_text(
    open_page: Any, site: Any, screenshot: Callable[[Any, str], None]
) -> None:
    page = open_page()
    open_original(page)
    sheet, text = box(page, ".rk-sheet"), box(page, ".rk-passage")
    assert sheet["x"] + sheet["width"] < text["x"]
    assert sheet["y"] + sheet["height"] < 800, "the whole page is in view"
    assert page.locator("#rk-panel .rk-span").first.is_visible()
    assert no_sideways(page)
    screenshot(page, "original")


def test_on_a_phone_the_page_stands_above_the_text(open_page: Any, site: Any) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, locale="zh-CN")
    open_original(page)
    sheet, text = box(page, ".rk-sheet"), box(page, ".rk-passage")
    assert sheet["y"] + sheet["height"] < text["y"]
    assert sheet["x"] >= 0
    assert sheet["x"] + sheet["width"] <= 390
    assert page.inner_text(".rk-told") == ZH["original_marked"]
    assert no_sideways(page)


def test_nothing_moves_when_the_page_comes(open_page: Any, site: Any) -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route("**/v1/documents/*/pages/*", hold)
    ask(page, QUESTION)
    answered(page).locator(".rk-source").first.click()
    page.wait_for_selector(".rk-sheet.rk-waiting")
    before = box(page, ".rk-passage")
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    until(page, SHOWN)
    after = box(page, ".rk-passage")
    assert abs(before["y"] - after["y"]) < 3, "the page is of the paper's usual shape"


def test_pages_are_turned_and_shown_larger(open_page: Any, site: Any) -> None:
    page = open_page()
    open_original(page)
    (first, *_) = cited(site)
    total = middles(first.page, first.quote)[1]
    word, other = (
        ("original_next", first.page + 1)
        if first.page < total
        else ("original_previous", first.page - 1)
    )
    page.get_by_role("button", name=EN[word]).click()
    name = EN["original_page"].format(page=other, pages=total)
    until(page, f"document.querySelector('.rk-pages span')?.innerText === '{name}'")
    until(page, SHOWN)
    alt = page.get_attribute(".rk-sheet img", "alt")
    assert alt.startswith(f"Original page {other} of")
    small = box(page, ".rk-sheet")
    page.get_by_role("button", name=EN["original_larger"]).click()
    large = box(page, "dialog .rk-sheet")
    assert large["width"] > 1.5 * small["width"]
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('dialog')")  # its event of closing comes later
    assert page.locator("#rk-panel").is_visible(), "Escape has closed the larger page alone"
    assert page.evaluate("document.activeElement.className") == "rk-page"
    page.keyboard.press("Escape")
    assert page.locator("#rk-panel").is_hidden()


def test_a_page_that_cannot_be_shown_leaves_the_text(open_page: Any, site: Any) -> None:
    page = open_page()
    gone = '{"error": {"message": "gone", "code": "not_found"}}'
    page.route("**/v1/documents/*/pages/*", lambda route: route.fulfill(status=404, body=gone))
    ask(page, QUESTION)
    answered(page).locator(".rk-source").first.click()
    page.wait_for_selector(".rk-no-original")
    assert page.inner_text(".rk-no-original").strip() == EN["original_none"]
    assert page.locator(".rk-original").count() == 0
    assert page.locator("#rk-panel .rk-span").first.is_visible()
    assert box(page, "#rk-panel")["width"] <= 420, "the panel is as narrow as without a page"


def test_other_formats_have_their_text_alone(open_page: Any, site: Any) -> None:
    site.says = lambda _: Reply("Full-time employees in Galway have 26 days of annual leave [1].")
    page = open_page()
    ask(page, "How many days of annual leave do full-time employees in Galway have?")
    answered(page).locator(".rk-source").first.click()
    page.wait_for_selector("#rk-panel .rk-span")
    assert page.locator(".rk-original, .rk-no-original").count() == 0
