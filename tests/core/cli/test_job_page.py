"""The page of a run in a real browser: small and large, bright and dark, with hostile names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ragkit.cli.job_page import page
from ragkit.cli.job_report import FileFigures, JobReport, report
from ragkit.store.jobs.ledger import Run

pytestmark = pytest.mark.browser

START = datetime(2026, 11, 22, 8, 0, tzinfo=UTC)
FIGURES = {
    "documents": {"unchanged": 500, "deleted": 2, "copies": 0},
    "skipped": 7,
    "skipped_files": [
        {
            "uri": "/docs/offer.eml!/<b>plan</b>.dwg",
            "reason": "a format that ragkit does not read (.dwg)",
        }
    ],
}
SECONDS = {"read": 0.002, "parse": 0.25, "split": 0.05, "embed": 1.5, "write": 0.02}
NAMES = {
    "plain": "/docs/handbook/leave.md",
    "script": "/docs/<script>document.title='taken'</script>.html",
    "chinese": "/docs/合同/供应商框架协议（修订版）.docx",
    "long": "/docs/" + "without-a-space-" * 20 + ".pdf",
    "turned": "/docs/evil\u202egnp.exe.md",
}


def file(
    number: int, uri: str, reason: str = "", notes: Mapping[str, int] | None = None
) -> FileFigures:
    state, stage = ("failed", "parse") if reason else ("done", "")
    seconds = {"read": 0.002} if reason else SECONDS
    return FileFigures(number, uri, state, 2000, 12, seconds, notes or {}, stage, reason, "shelf")


def made(*files: FileFigures, ended: bool = True) -> JobReport:
    rates = tuple((float(n + 1), float(n % 7)) for n in range(60)) if files else ()
    end = START + timedelta(seconds=61) if ended else None
    return JobReport(7, "notes", "shelf", START, end, FIGURES, files, rates)


HOSTILE = [
    file(1, NAMES["plain"], notes={"masked email": 3, "hidden text": 1}),
    file(2, NAMES["script"], "<img src=http://evil.example/x onerror=alert(1)>"),
    file(3, NAMES["chinese"]),
    file(4, NAMES["long"], "damaged " * 40),
    file(5, NAMES["turned"]),
]
REPORTS = {
    "nothing": made(),
    "one": made(HOSTILE[0]),
    "hostile": made(*HOSTILE, ended=False),
    "many": made(*(file(n, f"/docs/{n % 7}/file-{n:03}.md") for n in range(500))),
}


@dataclass
class Opened:
    """A page, and what it asked for or said while it was opened."""

    page: Any
    asked: list[str] = field(default_factory=list)

    def width(self) -> int:
        return int(self.page.evaluate("document.scrollingElement.scrollWidth"))

    def text(self, place: str = "body") -> str:
        return str(self.page.locator(place).first.inner_text())


def opened(
    browser: Any, tmp_path: Path, what: str, width: int = 1280, look: str = "light"
) -> Opened:
    written = tmp_path / "run.html"
    written.write_text(page(REPORTS[what]), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=look)
    shown = Opened(context.new_page())
    shown.page.on("request", lambda request: shown.asked.append(request.url))
    shown.page.on("dialog", lambda dialog: shown.asked.append(dialog.message))
    shown.page.on("console", lambda message: shown.asked.append(message.text))
    shown.page.goto(written.as_uri())
    assert shown.asked == [written.as_uri()], "it loads nothing, runs nothing, and says nothing"
    return shown


@pytest.mark.parametrize(("width", "look"), [(1280, "light"), (380, "dark")])
@pytest.mark.parametrize("what", REPORTS)
def test_it_fits_the_window_and_loads_nothing(
    browser: Any, tmp_path: Path, what: str, width: int, look: str
) -> None:
    shown = opened(browser, tmp_path, what, width, look)
    assert shown.width() == width, "it is not moved sideways"
    dark = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark == ("rgb(255, 255, 255)" if look == "light" else "rgb(13, 17, 23)")


def test_hostile_names_and_reasons_are_text(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, "hostile")
    assert shown.page.title() == "Run 7 of collection notes"
    assert shown.page.locator("script, img, iframe").count() == 0
    assert "<script>document.title='taken'</script>.html" in shown.text()
    assert "<img src=http://evil.example/x onerror=alert(1)>" in shown.text()
    assert "evil\ufffdgnp.exe.md" in shown.text(), "no name is read backwards"
    assert "has not ended" in shown.text()


def test_figures_of_a_run_and_of_a_file(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, "hostile")
    sums = dict(line.split("\n") for line in shown.page.locator("dl > div").all_inner_texts())
    assert sums == {
        "files": "5",
        "done": "3",
        "failed": "2",
        "unchanged": "500",
        "deleted": "2",
        "skipped": "7",
        "chunks": "60",
        "MB": "0.01",
        "masked": "3",
        "read, s": "0.01",
        "parse, s": "0.75",
        "split, s": "0.15",
        "embed, s": "4.50",
        "write, s": "0.06",
    }
    assert "a format that ragkit does not read (.dwg)" in shown.text()
    assert "All files are in /docs/" in shown.text()
    row = shown.page.locator("table.full").last.locator("tr").nth(1).locator("td")
    cells = ["handbook/leave.md", "done", "2.0", "12", "0.002", "0.250", "0.050", "1.500", "0.020"]
    assert row.all_inner_texts() == [*cells, "3", "hidden text: 1"]


def test_a_small_window_shows_each_file_as_lines_with_the_names_of_the_figures(
    browser: Any, tmp_path: Path
) -> None:
    shown = opened(browser, tmp_path, "many", 380)
    assert shown.page.locator("table.full").last.locator("tr").count() == 501
    assert not shown.page.locator("table.full th").first.is_visible()
    cell = "document.querySelectorAll('table.full td[data-of]')[1]"
    label = f"getComputedStyle({cell}, '::before').content"
    assert shown.page.evaluate(label).replace('"', "").strip() == "chunks"


def test_a_plot_whose_bars_stand_on_the_line(browser: Any, tmp_path: Path) -> None:
    shown = opened(browser, tmp_path, "many")
    bars = shown.page.locator("svg rect")
    assert bars.count() == 51, "of 60 stretches nine had nothing"
    feet = {round(float(bar["y"]) + float(bar["height"]), 1) for bar in _boxes(bars)}
    assert len(feet) == 1
    assert opened(browser, tmp_path, "nothing").page.locator("svg").count() == 0
    empty = report(Run(7, "notes", "ingest", "shelf", START, START, {}), [])
    assert "Nothing had changed." in page(empty)


def _boxes(bars: Any) -> list[dict[str, str]]:
    script = (
        "bars => bars.map(bar => ({y: bar.getAttribute('y'), height: bar.getAttribute('height')}))"
    )
    found: list[dict[str, str]] = bars.evaluate_all(script)
    return found
