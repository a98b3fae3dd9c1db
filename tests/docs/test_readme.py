"""The Python examples of both READMEs and of the quickstart run; the transcript is the demo's."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from examples import demo
from tests.places import ROOT, passable_folder

LEASE = {
    "README.md": "The lease can be terminated with three months' notice to the end of a quarter.",
    "docs/quickstart.md": "The notice period is three months.",
    "README.zh-CN.md": "租约可以提前终止的情况是：承租人提前三个月书面通知。",
}


def example(readme: str, folder: Path) -> str:
    """Return a README's example and put the contract that it reads into a folder."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text("utf-8"), re.DOTALL)
    (folder / "contracts").mkdir()
    (folder / "contracts" / "lease.txt").write_text(LEASE[readme], encoding="utf-8")
    return str(code)


def check(readme: str, folder: Path, printed: str) -> None:
    first, answer, citation, *_ = printed.splitlines()
    assert first == "1 0 0 ()"
    assert answer == f"{LEASE[readme]} [1]"
    assert citation.startswith(f"1 {folder}/contracts/lease.txt None 0 ")
    assert citation.endswith(" verified")


@pytest.mark.long
def test_the_example_runs_as_a_program(fresh_database: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", example("README.md", tmp_path)],
        env=os.environ | {"RAGKIT_DATABASE_URL": fresh_database, "PYTHONIOENCODING": "utf-8"},
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    check("README.md", tmp_path, done.stdout)


def test_the_chinese_example_runs(
    fresh_database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    monkeypatch.chdir(tmp_path)
    exec(example("README.zh-CN.md", tmp_path), {"__name__": "__main__"})  # noqa: S102  the README's own code
    check("README.zh-CN.md", tmp_path, capsys.readouterr().out)


def test_the_quickstarts_example_runs(
    fresh_database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    monkeypatch.chdir(tmp_path)
    exec(example("docs/quickstart.md", tmp_path), {"__name__": "__main__"})  # noqa: S102  the page's own code
    first, answer, citation, *_ = capsys.readouterr().out.splitlines()
    assert first == "1 []"
    assert answer == f"{LEASE['docs/quickstart.md']} [1]"
    assert citation == f"1 lease None {LEASE['docs/quickstart.md']}"


@pytest.mark.long
@pytest.mark.parametrize("locale", demo.READMES)
def test_the_transcript_is_what_the_demo_prints(locale: str) -> None:
    """`make readme` writes it anew. Times and the numbers of documents may differ."""
    home = passable_folder()
    try:
        outputs, failed = demo.run_demo(home, locale)
    finally:
        shutil.rmtree(home)
    assert failed == 0
    (shown,) = demo.TRANSCRIPT.findall(demo.READMES[locale].read_text("utf-8"))
    assert normalised(shown) == normalised(demo.transcript(outputs))


def normalised(transcript: str) -> str:
    """Take out what differs from run to run: times, rates, numbers of documents."""
    timeless = re.sub(r"\b[\d.]+ (s|min|秒|分钟)(?![a-z])", "N s", transcript)
    rateless = re.sub(r"\d+ chunks/s", "N chunks/s", timeless)
    return re.sub(r"(document|文档) ?\d+", "document N", rateless)
