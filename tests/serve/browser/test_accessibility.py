"""axe-core over the pages: nothing serious, nothing critical. A newcomer walks through all scenes.

The newcomer has no language model: what is shown is what a fresh installation shows. The two walks
of every run are opposites, English on a light wide screen and Chinese on a dark phone; where
RAGKIT_SCREENSHOTS names a folder, all six are walked and the pictures written there.

axe-core is no part of ragkit. RAGKIT_AXE names its axe.min.js; without it npm fetches the package
into a temporary folder, and is skipped, visibly, where it cannot.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from ragkit.prompts.messages import REFUSAL
from ragkit_serve.api.services import Services
from ragkit_serve.page.words import WORDS, Language
from tests.serve.browser.conftest import (
    HANDBOOK,
    PHONE,
    Open,
    age_conversations,
    guarded_by_keys,
    ready,
    serving,
)
from tests.serve.browser.test_original import SHOWN as PAGE_SHOWN
from tests.serve.browser.test_page import (
    LEAVE,
    answered,
    ask,
    no_sideways,
    shows,
    state_of,
    tab,
    until,
)

pytestmark = pytest.mark.browser
PACKAGE: Final = "axe-core@4.10.3"
SHA512: Final = (
    "Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIcrgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg=="
)
RUN: Final = """axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).map(
    ({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html.slice(0, 160))]))"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of axe.min.js."""
    if path := os.environ.get("RAGKIT_AXE"):
        return Path(path).read_text()
    if shutil.which("npm") is None:
        pytest.skip("there is no npm, and RAGKIT_AXE does not name axe-core's axe.min.js")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "pack", PACKAGE, "--silent", "--fetch-retries=0"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
    packed = next(folder.glob("*.tgz"), None)
    if done.returncode or packed is None:
        pytest.skip(f"npm cannot fetch {PACKAGE}: set RAGKIT_AXE to axe-core's axe.min.js")
    digest = base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()
    assert digest == SHA512, "another file than the one that was checked"
    with tarfile.open(packed) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


def check(page: Any, axe: str, place: str) -> None:
    page.evaluate(axe)
    assert page.evaluate(RUN) == [], place


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_sources_menus_and_settings_can_be_used_by_everybody(
    open_page: Open, site: Any, axe: str, scheme: str
) -> None:
    page = open_page(color_scheme=scheme)
    ask(page, LEAVE)
    answered(page).locator(".rk-cite").first.click()
    page.wait_for_selector("#rk-panel .rk-span")
    check(page, axe, "answer with its source")
    page.click("#rk-close")
    site.says = lambda _: REFUSAL["en"]
    ask(page, "Which leave do the dogs of employees in Galway have?")
    answered(page, 2)
    page.wait_for_selector("#rk-conversations .rk-more")
    page.click("#rk-conversations .rk-more")
    check(page, axe, "refusal, and a menu")
    page.keyboard.press("Escape")
    page.click("#rk-settings summary")
    check(page, axe, "search settings")


@dataclass(frozen=True)
class Walk:
    """What a newcomer drops and asks in a language, and the words that the answers must have."""

    locale: str
    first: str
    others: tuple[str, ...]
    question: str
    answer: str
    refused: str
    greeting: str
    listed: str
    row: str
    cell: str
    manual: str
    words: str


WALKS: Final = {
    "en": Walk(
        locale="en-GB",
        first="en/leave.md",
        others=("en/travel-and-expenses.md", "en/warranty.html", "rl-400-manual.pdf"),
        question="How many days of annual leave do full-time employees have?",
        answer="26 days",
        refused="Which wine is served at the summer party?",
        greeting="Hello!",
        listed="How is a warranty claim handled?",
        row="What is the hotel limit in London?",
        cell="£185",
        manual="How far from a wall must the RL-400 hang?",
        words="theft of instruments",
    ),
    "zh": Walk(
        locale="zh-CN",
        first="zh/leave.md",
        others=("zh/travel-expenses.md", "zh/server-room.html", "rl-400-manual.pdf"),
        question="入职满一年的员工每年有多少天年假？",
        answer="8天",
        refused="夏季聚会上喝什么葡萄酒？",
        greeting="你好！",
        listed="机房巡检要做哪些事？",
        row="省会城市的住宿限额是多少？",
        cell="420元",
        manual="RL-400 的电池能用多久？",
        words="丢失仪器",
    ),
}
LOOKS: Final[Mapping[str, Mapping[str, Any]]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {**PHONE, "color_scheme": "light"},
    "phone-dark": {**PHONE, "color_scheme": "dark"},
}
ALWAYS: Final = (("en", "light"), ("zh", "phone-dark"))
PICTURED: Final = (*ALWAYS, ("en", "dark"), ("en", "phone"), ("zh", "light"), ("zh", "dark"))


@pytest.mark.parametrize(
    ("language", "look"), PICTURED if os.environ.get("RAGKIT_SCREENSHOTS") else ALWAYS
)
def test_a_newcomer_walks_through_the_page(
    empty: Services,
    visit: Open,
    axe: str,
    screenshot: Callable[[Any, str], None],
    tmp_path: Path,
    language: Language,
    look: str,
) -> None:
    walk, words = WALKS[language], WORDS[language]

    def scene(name: str) -> None:
        assert no_sideways(page), name
        check(page, axe, name)
        screenshot(page, f"{name}-{language}-{look}")

    def answer(question: str) -> str:
        """Ask in a new conversation; return the answer."""
        page.goto(url)
        ready(page)
        ask(page, question)
        text: str = answered(page).locator(".rk-text").inner_text()
        return text

    def open_source(shown: str) -> None:
        page.locator(".rk-cite").first.click()
        until(page, shown)

    with serving(empty) as url:
        page = visit(url, locale=walk.locale, **LOOKS[look])
        ready(page)
        scene("empty")
        page.locator("body > input[type=file]").set_input_files(HANDBOOK / walk.first)
        shows(page, "#rk-arriving", words["state_done"])
        page.wait_for_selector(".rk-suggested button")
        scene("first-upload")
        assert walk.answer in answer(walk.question)
        open_source("document.querySelector('#rk-panel .rk-span')")
        scene("first-answer")

        page.goto(url)
        ready(page)
        tab(page, 1)
        page.locator("#rk-upload input[type=file]").set_input_files(
            [HANDBOOK / name for name in walk.others]
        )
        for name in walk.others:
            until(page, state_of(Path(name).name, words["state_done"]))
        scene("documents")
        answer(walk.refused)
        assert page.locator(".rk-refusal").count() == 1
        scene("refusal")
        answer(walk.greeting)
        scene("greeting")
        answer(walk.listed)
        scene("list-answer")
        assert page.locator(".rk-text li").count() > 1
        assert walk.cell in answer(walk.row)
        scene("table-answer")
        answer(walk.manual)
        open_source(PAGE_SHOWN)
        scene("original-page")

        age_conversations(empty, [400, 4, 1])
        page.goto(url)
        ready(page)
        if "viewport" in LOOKS[look]:
            page.click(".sidebar .toggle-button")
            until(page, "document.querySelector('.sidebar').getBoundingClientRect().left === 0")
        until(page, "document.querySelectorAll('#rk-conversations h2').length === 4")
        scene("conversations")
        page.goto(url)
        ready(page)
        tab(page, 2)
        page.fill("#rk-query", walk.words)
        page.click("#rk-search")
        page.wait_for_selector("#rk-hits mark")
        scene("search")
    with serving(guarded_by_keys(empty)) as url:
        page.goto(f"{url}/login")
        page.wait_for_selector("#key")
        scene("log-in")
