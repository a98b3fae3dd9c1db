"""Pictures among other files where no OCR is: passed over with the remedy, and no failure."""

import io
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.cli.main import app
from ragkit.settings.settings import Settings
from ragkit_ingest.parse import ocr
from ragkit_ingest.run.run import ingest
from ragkit_ingest.worker.preview import preview

pytestmark = pytest.mark.usefixtures("shared_model")

MISSING = "pictures, which need OCR: pip install 'ragkit[ocr]'"
OFF = "pictures, and OCR is switched off (RAGKIT_OCR=auto reads them)"


@pytest.fixture
def settings(fresh_database: str, tmp_path: Path) -> Settings:
    return Settings(database_url=SecretStr(fresh_database), home=tmp_path / "home")


@pytest.fixture
def no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ocr, "find_spec", lambda name: None if name == "rapidocr" else find_spec(name)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    (made / "leave.md").write_text("# Leave\n\nEveryone has 25 days of leave.\n")
    (made / "logo.png").write_bytes(picture())
    (made / "photo.JPG").write_bytes(picture())
    with zipfile.ZipFile(made / "mails.zip", "w") as archive:
        archive.writestr("inside.png", picture())
    return made


def picture() -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (40, 40), 255).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.usefixtures("no_extra")
def test_pictures_in_a_folder_are_no_failures(settings: Settings, folder: Path) -> None:
    report = ingest([folder], settings=settings)
    assert (report.added, report.failures) == (1, ())
    assert (report.skipped, report.skipped_by_reason) == (3, {MISSING: 3})
    names = [f"{folder}/logo.png", f"{folder}/mails.zip!/inside.png", f"{folder}/photo.JPG"]
    assert sorted(file.uri for file in report.skipped_files) == names
    assert report.as_json()["skipped_by_reason"] == {MISSING: 3}
    ahead = preview([folder], settings=settings)
    assert (ahead.would, ahead.unchanged, ahead.skipped.reasons) == ((), 1, {MISSING: 3})


@pytest.mark.usefixtures("no_extra")
def test_a_picture_that_was_named_is_not_passed_over(settings: Settings, folder: Path) -> None:
    report = ingest([folder / "logo.png"], settings=settings, jobs=1)
    assert report.skipped_files == ()
    (failure,) = report.failures
    assert failure.stage == "parse"
    # The parser is a process of its own, in which the extra is there where it is installed.
    assert failure.reason in {
        "a picture, which needs OCR: pip install 'ragkit[ocr]'",
        "a picture in which OCR found no text",
    }


def test_where_ocr_is_switched_off_pictures_are_passed_over_too(
    settings: Settings, folder: Path
) -> None:
    off = settings.model_copy(update={"ocr": "off"})
    report = ingest([folder], settings=off)
    assert (report.added, report.failed, report.skipped_by_reason) == (1, 0, {OFF: 3})
    (failure,) = ingest([folder / "logo.png"], settings=off).failures
    assert failure.reason == "a picture, and OCR is switched off (RAGKIT_OCR=auto reads it)"


@pytest.mark.usefixtures("no_extra")
def test_the_command_says_it_in_a_line_and_ends_well(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings.database_url is not None
    monkeypatch.setenv("RAGKIT_DATABASE_URL", settings.database_url.get_secret_value())
    done = CliRunner().invoke(app, ["ingest", str(folder)])
    assert done.exit_code == 0, done.output
    skipped = f"Skipped: 3 files\n  {MISSING}: logo.png, mails.zip!/inside.png, photo.JPG\n"
    assert skipped in done.output
