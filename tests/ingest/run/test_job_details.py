"""What the ledger keeps of each file: seconds by stage, size, chunks, and what its text lacks."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.cli.job_report import STAGES, of_run
from ragkit.cli.main import app
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit_ingest.run.run import ingest
from ragkit_ingest.run.steps import Prepared, Steps
from ragkit_ingest.run.tally import Figures, Live
from tests.ingest.pdfs import SHOW_IMAGE, image, pdf, text


def test_each_file_has_its_seconds_by_stage_and_what_its_text_lacks(
    fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(
        database_url=SecretStr(fresh_database), home=tmp_path / "home", ocr="off", mask="email"
    )
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of a PDF")
    (folder / "gone.md").symlink_to(folder / "nowhere.md")
    (folder / "leave.md").write_text("# Leave\n\nAsk ann@example.com.\n")
    pages = [text(72, 700, "A page of text."), SHOW_IMAGE]
    (folder / "scan.pdf").write_bytes(pdf(pages, picture=image(8, 8, b"\0" * 64)))
    prepared, ready = Steps.prepared, []

    def noted(steps: Steps, *arguments: Any) -> Prepared:
        ready.append("_recipe" in vars(steps))
        return prepared(steps, *arguments)

    monkeypatch.setattr(Steps, "prepared", noted)
    ingest([folder], settings=settings)
    assert ready == [True, True], "to load the model is no file's own time"
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    with open_database(settings) as database:
        made = of_run(database.store("default").job_ledger, None)
        files = {Path(file.uri).name: file for file in made.files}
        shown = CliRunner().invoke(app, ["jobs", "show", str(files["scan.pdf"].job)])
        report = CliRunner().invoke(app, ["jobs", "report", "--json"])
    assert {name: set(file.seconds) for name, file in files.items()} == {
        "broken.pdf": {"read", "parse"},
        "gone.md": {"read"},
        "leave.md": set(STAGES),
        "scan.pdf": set(STAGES),
    }
    for file in files.values():
        assert all(0 <= spent < 60 for spent in file.seconds.values())
    assert all(files["leave.md"].seconds[stage] > 0 for stage in ("parse", "embed", "write"))
    assert (files["leave.md"].bytes, files["leave.md"].masked) == (30, 1)
    assert files["scan.pdf"].notes == {"pages without text": 1}
    assert "pages without text" in shown.output
    assert json.loads(report.output)["notes"] == {"masked email": 1, "pages without text": 1}


def test_a_stage_that_goes_on_counts_up_to_the_moment_that_it_is_asked_for() -> None:
    figures = Figures(bytes=5, seconds={"read": 0.25})
    live = Live(figures)
    assert dict(live) == {"bytes": 5, "chunks": 0, "seconds": {"read": 0.25}}
    figures.began("write")
    assert set(live["seconds"]) == {"read", "write"}
    assert 0 <= live["seconds"]["write"] < 10
    figures.ended("write")
    assert len(live) == 3
