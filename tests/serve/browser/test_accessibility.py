"""axe-core over the pages, in both colours: nothing serious, nothing critical.

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
from pathlib import Path
from typing import Any, Final

import pytest

from ragkit.answer.prompt import REFUSAL
from tests.serve.browser.conftest import Open
from tests.serve.browser.test_page import LEAVE, answered, ask, shows, tab

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
def test_the_pages_can_be_used_by_everybody(
    open_page: Open, site: Any, axe: str, scheme: str
) -> None:
    page = open_page(color_scheme=scheme)
    check(page, axe, "welcome")
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
    tab(page, 1)
    shows(page, "#rk-documents", "Leave and absence (Galway)")
    check(page, axe, "documents")
    tab(page, 2)
    page.fill("#rk-query", "annual leave in Galway")
    page.click("#rk-search")
    shows(page, "#rk-hits", "Leave and absence (Galway)")
    check(page, axe, "search")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_log_in_page_can_be_used_by_everybody(
    visit: Open, guarded: str, axe: str, scheme: str
) -> None:
    page = visit(f"{guarded}/login", color_scheme=scheme)
    page.wait_for_selector("#key")
    check(page, axe, "log-in")
