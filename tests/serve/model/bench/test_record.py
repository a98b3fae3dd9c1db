"""The file: read back as it was written, and nothing else taken for one."""

import json
from pathlib import Path

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit_serve.model.bench.record import Record, as_json, check_writable, read, write
from tests.serve.model.bench.test_compare import BASE, made, record


@pytest.fixture
def kept() -> Record:
    return record(made(BASE[:3]), made(BASE[:3], rate_per_s=2))


def test_it_is_read_back_as_written(tmp_path: Path, kept: Record) -> None:
    file = tmp_path / "bench.json"
    write(kept, file)
    assert read(file) == kept
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"]
    value = json.loads(file.read_text())
    assert (value["format"], value["version"]) == ("ragkit-model-bench", 1)
    assert len(value["runs"][0]["rows"]) == 3
    short = as_json(kept, rows=False)
    assert "rows" not in short["runs"][0]
    assert short["runs"][0]["summary"]["ttft_s"]["n"] == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.update(format="other"),
        lambda value: value.update(version=2),
        lambda value: value.pop("runs"),
        lambda value: value["runs"][0].update(engine="x"),
        lambda value: value["runs"][0]["rows"][0].update(e2e_s=-1),
        lambda value: value["runs"][0]["rows"][0].update(e2e_s=float("nan")),
        lambda value: value["runs"][0]["rows"][0].update(output_tokens="7"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, kept: Record, change: object) -> None:
    value = as_json(kept)
    change(value)  # type: ignore[operator]
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(value))
    with pytest.raises(UsageError, match=r"is no file of `ragkit model bench` version 1"):
        read(file)


def test_no_file_and_no_json(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="cannot be read"):
        read(tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UsageError, match=r"is no file of"):
        read(tmp_path / "text")


def test_where_nothing_can_be_written_is_known_before_the_work(tmp_path: Path) -> None:
    check_writable(tmp_path / "bench.json")
    for path in (tmp_path, tmp_path / "none" / "bench.json"):
        with pytest.raises(UsageError, match="cannot be written"):
            check_writable(path)
