"""What docs/howto/sources.md and the pages below it show is what ragkit does."""

import inspect
import json
import re
from pathlib import Path

from ragkit_ingest.cli.ingest import ingest
from ragkit_ingest.sources import find
from ragkit_ingest.sources.remote import _DRIVERS
from tests.places import ROOT

HOWTO = ROOT / "docs" / "howto"
PAGES = [HOWTO / "sources.md", *sorted((HOWTO / "sources").glob("*.md"))]
PAGE = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def test_every_option_on_the_page_is_one_of_the_command() -> None:
    options = {f"--{name.replace('_', '-')}" for name in inspect.signature(ingest).parameters}
    options |= {"--where", "--state", "--schema-only"}  # of search, of jobs, of pg_dump
    documented = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))
    assert documented - options == set()
    assert {"--text", "--id-field", "--meta", "--include", "--sync"} <= documented


def test_the_ignore_file_leaves_out_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / ".ragkitignore").write_text(_block("ignore"))
    names = "a.md build.md drafts/2024/old-but-good.md drafts/2024/old-x.md drafts/a.md x/b.log.md"
    for name in [*names.split(), "build/c.md", "x/build/d.md"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    listed = [item.uri.removeprefix(f"{tmp_path}/") for item in find([str(tmp_path)])]
    assert listed == [
        "a.md",
        "build.md",
        "drafts/a.md",
        "drafts/2024/old-but-good.md",
        "x/build/d.md",
    ]


def test_the_sidecar_gives_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "contract.pdf").touch()
    (tmp_path / "contract.pdf.meta.json").write_text(_block("json"))
    (item,) = find([str(tmp_path)])
    assert item.title == json.loads(_block("json"))["title"] == "Contract with Acme"
    assert item.metadata == {"year": 2024, "signed": True, "tags": "supplier, framework"}


def test_the_drivers_are_those_that_messages_name() -> None:
    rows = dict(re.findall(r"\| `(\w+)://[^|]*\| `pip install (\w+)`", PAGE))
    assert rows == {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "sftp": "paramiko"}
    assert rows.items() <= _DRIVERS.items()


def _block(language: str) -> str:
    match = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    return match[1]
