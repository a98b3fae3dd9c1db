"""The report in a real browser, from a file and without a network: read, filtered, attacked."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragkit_eval.report import html
from ragkit_eval.report.report import compared
from ragkit_eval.run.record import read_run
from tests.eval.report import runs
from tests.eval.report.test_page import hostile
from tests.places import ROOT

pytestmark = pytest.mark.browser
EXAMPLE = ROOT / "examples" / "report.html"
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
COLOURS = "ground raised text soft link good bad warn good-fill bad-fill warn-fill quote".split()
Open = Callable[..., Any]


def report_file(out: Path, *paths: Path, title: str = "") -> Path:
    read = [read_run(path, texts=False) for path in paths]
    out.write_text(html(read, compared(read), title=title), encoding="utf-8")
    return out


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One page of each kind."""
    folder = tmp_path_factory.mktemp("reports")
    choices = [
        runs.choices(folder / f"{name}.jsonl", name=name, seed=n, right=0.5 + n / 10, errors=0.003)
        for n, name in enumerate(("small", "large"))
    ]
    answers = [
        runs.answers(folder / f"a{n}.jsonl", name=name, which=n)
        for n, name in enumerate(("quoted sentences", "written by a language model"))
    ]
    one = runs.write(
        folder / "one.jsonl", runs.header(items=1), [runs.graded("mmlu", "1", 1.0, output="Yes.")]
    )
    errors = runs.choices(folder / "e.jsonl", name="down", seed=1, right=1, errors=1, per_subject=1)
    bad = [hostile(folder, value) for value in (0.0, 1.0)]
    return {
        "choices": report_file(folder / "choices.html", *choices),
        "answers": report_file(folder / "answers.html", *answers),
        "one": report_file(folder / "one.html", one),
        "errors": report_file(folder / "errors.html", errors),
        "example": EXAMPLE,
        "hostile": report_file(folder / "hostile.html", *bad, title=runs.HOSTILE),
    }


@pytest.fixture
def open_report(browser: Any, reports: dict[str, Path]) -> Iterator[Open]:
    """Open a page as a file, offline. At the end nothing may have been asked for or failed."""
    contexts: list[Any] = []
    asked: list[str] = []
    wrong: list[str] = []

    def opened(name: str, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 800}, offline=True, **options
        )
        contexts.append(context)
        context.add_init_script(WATCH)
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(reports[name].as_uri())
        return page

    yield opened
    violations = [
        violation
        for context in contexts
        for page in context.pages
        for violation in page.evaluate("window.violations")
    ]
    for context in contexts:
        context.close()
    assert violations == []
    assert wrong == []
    assert [url for url in asked if not url.startswith("file:")] == []
    assert len(asked) == len(contexts), "a page is one file"


def shown(page: Any) -> int:
    count: int = page.evaluate("document.querySelectorAll('article.item:not([hidden])').length")
    return count


def until(page: Any, test: Callable[[], bool]) -> None:
    """Wait for the page; Playwright's own way evaluates strings, which the policy forbids."""
    deadline = time.monotonic() + 60
    while not test():
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["choices", "answers", "one", "errors", "hostile"])
def test_page_never_scrolls_sideways(open_report: Open, name: str, width: int, scheme: str) -> None:
    page = open_report(name, width, color_scheme=scheme)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground, text = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    assert ground != text


def test_text_stands_out_from_its_ground_by_the_contrast_that_is_asked_for(
    open_report: Open,
) -> None:
    """WCAG 2.2 asks for 4.5 to 1 for text and 3 to 1 for what is drawn."""
    for scheme in ("light", "dark"):
        page = open_report("one", color_scheme=scheme)
        said = page.evaluate(
            "(names) => names.map((name) =>"
            " getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim())",
            [*COLOURS, *(f"s{n}" for n in range(8))],
        )
        colours = dict(zip([*COLOURS, *(f"s{n}" for n in range(8))], said, strict=True))
        texts = [(one, on) for one in ("text", "soft", "link") for on in ("ground", "raised")]
        texts += [("good", "good-fill"), ("bad", "bad-fill"), ("warn", "warn-fill")]
        texts += [("text", "quote"), ("text", "warn-fill"), ("warn", "ground"), ("bad", "ground")]
        for one, on in texts:
            assert contrast(colours[one], colours[on]) >= 4.5, (scheme, one, on)
        for n in range(8):
            assert contrast(colours[f"s{n}"], colours["ground"]) >= 3, (scheme, n)


def contrast(one: str, other: str) -> float:
    """https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio"""

    def luminance(colour: str) -> float:
        parts = [value / 255 for value in bytes.fromhex(colour.removeprefix("#"))]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_items_are_searched_and_filtered(open_report: Open) -> None:
    page = open_report("answers")
    assert shown(page) == 160
    assert page.inner_text("#found") == "160 of 160 items"
    page.select_option("#by-kind", "fixed")
    fixed = shown(page)
    assert 0 < fixed < 160
    page.fill("#by-text", "年假 handbook/ZH")
    until(page, lambda: shown(page) < fixed)
    assert shown(page) > 0
    assert page.inner_text("#found") == f"{shown(page)} of 160 items"
    page.fill("#by-text", "")
    page.select_option("#by-kind", "")
    page.select_option("#by-group", "en, unanswerable")
    until(page, lambda: page.inner_text("#found") == "40 of 160 items")


def test_items_open_by_keyboard_by_button_and_by_their_address(open_report: Open) -> None:
    page = open_report("answers")
    opened = "document.querySelectorAll('article.item > details[open]').length"
    page.focus("article.item summary")
    page.keyboard.press("Enter")
    assert page.evaluate(opened) == 1
    page.click("#open-all")
    assert page.evaluate(opened) == 160
    page.click("#close-all")
    assert page.evaluate(opened) == 0
    page.evaluate("location.hash = '#item-3'")
    page.wait_for_selector("#item-3 > details[open]")


def test_tables_are_sorted_by_a_column(open_report: Open) -> None:
    page = open_report("choices")
    table = (
        "(() => [...document.querySelectorAll('table')].find((t) => t.querySelector('button')))()"
    )
    column = f"[...{table}.tBodies[0].rows].map((row) => Number(row.cells[4].dataset.value))"
    page.click("th button:has-text('B − A')")
    values = page.evaluate(column)
    assert values == sorted(values)
    assert len(values) == 57
    page.click("th button:has-text('B − A')")
    assert page.evaluate(column) == sorted(values, reverse=True)
    assert page.get_attribute("th:has(button:has-text('B − A'))", "aria-sort") == "descending"


def test_page_is_whole_without_scripts(browser: Any, reports: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(reports["answers"].as_uri())
    assert page.locator("article.item").count() == 160
    assert not page.locator("#filters").is_visible()
    assert page.locator("table").first.is_visible()
    context.close()


def test_hostile_text_stays_text(open_report: Open) -> None:
    page = open_report("hostile")
    page.click("#open-all")
    page.fill("#by-text", "<script>alert(2)")
    until(page, lambda: shown(page) == 0)
    assert page.evaluate("document.querySelectorAll('img, iframe, textarea').length") == 0
    assert page.evaluate("document.scripts.length") == 1
    assert page.inner_text("h1").startswith("<script>alert(1)</script>")


def test_parser_repairs_nothing(open_report: Open, reports: dict[str, Path]) -> None:
    """A browser moves what may not stand where it is written: then the order would differ."""
    for name in ("answers", "hostile"):
        page = open_report(name)
        written = re.sub(
            r"<(script|style)>.*?</\1>", r"<\1>", reports[name].read_text("utf-8"), flags=re.DOTALL
        )
        names = re.findall(r"<([a-zA-Z][a-zA-Z0-9]*)", written)
        parsed = page.evaluate("[...document.querySelectorAll('*')].map((e) => e.localName)")
        assert parsed == names


def test_picture_for_the_documentation(open_report: Open) -> None:
    """Of the committed example, whose numbers were measured, where there is one."""
    folder = os.environ.get("RAGKIT_SCREENSHOTS")
    page = open_report("example" if EXAMPLE.exists() else "answers")
    assert page.inner_text("h1")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.evaluate("document.fonts.ready")
        page.screenshot(path=str(Path(folder) / "eval-report.png"))
