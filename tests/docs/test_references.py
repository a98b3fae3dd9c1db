"""The documents that people read name what is there: links, commands, settings, dependencies."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from ragkit.cli.main import COMMANDS
from ragkit.settings.settings import Settings
from ragkit_eval.cli.main import COMMANDS as EVALUATIONS
from tests.places import ROOT

PROSE = sorted(
    {path for pattern in ("*.md", "docs/**/*.md", "*/README.md") for path in ROOT.glob(pattern)}
)
READMES = ["README.md", "README.zh-CN.md"]
FIRST_COMMANDS = "ingest ask chat search serve documents doctor config".split()


@pytest.mark.parametrize("path", PROSE, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("name", [*READMES, "docs/commands.md"])
def test_the_tables_list_every_command(name: str) -> None:
    rows = re.findall(r"^\| (`ragkit .*?) \|", (ROOT / name).read_text("utf-8"), re.MULTILINE)
    listed = list(dict.fromkeys(re.findall(r"`ragkit (\w+)", " ".join(rows))))
    assert sorted(listed) == sorted(name for name, entry in COMMANDS.items() if entry.heading)
    if name in READMES:
        assert sorted(listed[:8]) == sorted(FIRST_COMMANDS)


def test_the_readmes_have_the_same_parts_links_and_settings() -> None:
    english, chinese = ((ROOT / name).read_text("utf-8") for name in READMES)
    own = re.compile(r"README|docs/images/")  # each leads to the other, and has its own picture
    for pattern in (r"^#+ ", r"\]\(([^)]+)\)", r"`(RAGKIT_\w+)`", r"^\| `(ragkit \w+)"):
        first, second = (re.findall(pattern, text, re.MULTILINE) for text in (english, chinese))
        assert [item for item in first if not own.search(item)] == [
            item for item in second if not own.search(item)
        ]


def test_the_page_of_commands_lists_those_of_the_evaluation() -> None:
    text = (ROOT / "docs/commands.md").read_text("utf-8")
    rows = re.findall(r"^\| (`ragkit eval .*?) \|", text, re.MULTILINE)
    listed = re.findall(r"`(?:ragkit eval )?([\w-]+)`", " ".join(rows))
    assert sorted(listed) == sorted(EVALUATIONS)


def _settings(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(r"^\| `RAGKIT_(\w+)`", text, re.MULTILINE)


def test_the_reference_of_settings_is_what_the_code_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "environments")
    written = importlib.import_module("settings_page").page()
    assert (ROOT / "docs" / "settings.md").read_text("utf-8") == written, "run `make settings`"
    assert _settings("docs/settings.md") == [field.upper() for field in Settings.model_fields]


@pytest.mark.parametrize("name", READMES)
def test_readme_lists_settings_that_there_are(name: str) -> None:
    rows = _settings(name)
    assert len(rows) >= 10
    assert [row for row in rows if row.lower() not in Settings.model_fields] == []


def test_architecture_gives_a_reason_for_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [re.split(r"[\[<>=]", line)[0] for line in project["dependencies"]]
    table = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Dependencies")[2]
    assert re.findall(r"^\| ([a-z][\w-]+) \|", table, re.MULTILINE) == ["package", *wanted]


def test_example_pdf_has_four_pages_and_readable_chinese() -> None:
    import pypdfium2

    pdf = pypdfium2.PdfDocument(ROOT / "examples" / "handbook" / "rl-400-manual.pdf")
    try:
        texts = [page.get_textpage().get_text_range() for page in pdf]
    finally:
        pdf.close()
    assert len(texts) == 4
    assert "Replace the desiccant cartridge 12 months OL-4410" in texts[2]
    assert "防雷接地电阻不得大于4欧姆" in texts[3]
