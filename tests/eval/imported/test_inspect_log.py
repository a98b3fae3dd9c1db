"""Logs of Inspect: grades, epochs, errors and archives, and logs that cannot be read."""

import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import UsageError
from ragkit_eval.imported.read import read_logs
from ragkit_eval.imported.task import ImportedTask
from tests.eval.imported.logs import sample, write_inspect


def read(path: Path) -> ImportedTask:
    (task,) = read_logs([path])
    return task


@pytest.mark.parametrize("name", ["log.json", "log.eval"])
def test_a_log(tmp_path: Path, name: str) -> None:
    task = read(write_inspect(tmp_path / name, [sample("b", "I"), sample(7, "C")]))
    assert (task.name, task.model, task.version) == ("lakes", "mockllm/small", "0")
    assert task.metrics == {"match": "match|task:lakes|v:0|by:inspect"}
    assert [sample.item.id for sample in task.samples] == ["7", "b"]
    (first, _) = task.samples
    assert (first.question, first.targets or first.item.targets, first.output) == (
        "What is the name of lake 7?",
        ("Lake 7",),
        "It is",
    )
    assert (first.prediction, first.latency_s, first.item.cluster) == ("it", 0.5, "")
    assert first.usage == {"prompt_tokens": 11, "completion_tokens": 2}
    assert task.notes == ()


GRADES: list[tuple[object, dict[str, float]]] = [
    ("C", {"match": 1.0}),
    ("P", {"match": 0.5}),
    ("I", {"match": 0.0}),
    ("N", {"match": 0.0}),
    (True, {"match": 1.0}),
    ("no", {"match": 0.0}),
    ("0.25", {"match": 0.25}),
    (17.5, {"match": 17.5}),
    ({"tone": 1, "facts": "P", "why": "a text"}, {"match/tone": 1.0, "match/facts": 0.5}),
    ("excellent", {}),
    ([1, 0], {}),
    (float("nan"), {}),
]


@pytest.mark.parametrize(("value", "scores"), GRADES)
def test_grades(tmp_path: Path, value: object, scores: dict[str, float]) -> None:
    other = {"other": {"value": 1}}
    logged = sample(1, value)
    logged["scores"] |= other
    task = read(write_inspect(tmp_path / "log.json", [logged]))
    assert task.samples[0].scores == scores | {"other": 1.0}


def test_values_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    logged = sample(1, {"tone": 1, "why": "a text"})
    assert read(write_inspect(tmp_path / "log.json", [logged])).left_out == ("match/why",)


def test_epochs_of_a_sample_are_items_of_one_cluster(tmp_path: Path) -> None:
    logged = [sample(id, "C", epoch=epoch) for epoch in (2, 1) for id in ("a", "b")]
    task = read(write_inspect(tmp_path / "log.json", logged))
    assert [(each.item.id, each.item.cluster) for each in task.samples] == [
        ("a#1", "a"),
        ("a#2", "a"),
        ("b#1", "b"),
        ("b#2", "b"),
    ]


def test_samples_that_failed_are_errors(tmp_path: Path) -> None:
    failed = sample("a", "C", error={"message": "the server is gone", "traceback": "..."})
    unscored = sample("b", "C") | {"scores": None}
    task = read(write_inspect(tmp_path / "log.json", [failed, unscored, sample("c", "C")]))
    assert [each.error for each in task.samples] == [
        "the server is gone",
        "the sample has no score in the log",
        "",
    ]


def test_a_conversation_as_input(tmp_path: Path) -> None:
    messages = [
        {"id": "x1", "role": "system", "content": "Be brief."},
        {"id": "x2", "role": "user", "content": [{"type": "text", "text": "Which lake?"}]},
    ]
    picture = [{"role": "user", "content": [{"type": "image", "image": "attachment://ab"}]}]
    logged = [sample(1, "C", input=messages), sample(2, "C", input=picture)]
    first, second = read(write_inspect(tmp_path / "log.json", logged)).samples
    assert (first.question, first.prompt) == ("Which lake?", "system: Be brief.\nuser: Which lake?")
    assert second.question.startswith("[image ")


def test_the_grader_is_part_of_the_signature(tmp_path: Path) -> None:
    signatures = set()
    for model in ("judge-a", "judge-b"):
        path = write_inspect(tmp_path / f"{model}.json", [sample(1, "C")])
        options = f'"options": {{"model": "{model}"}}'
        path.write_text(path.read_text().replace('"options": {}', options))
        signatures |= set(read(path).metrics.values())
    assert len(signatures) == 2


def test_an_evaluation_that_did_not_end_is_noted(tmp_path: Path) -> None:
    path = write_inspect(tmp_path / "log.json", [sample(1, "C")])
    path.write_text(path.read_text().replace('"success"', '"cancelled"'))
    assert read(path).notes == ("lakes: the evaluation did not end: its status is cancelled",)


BAD_SAMPLES: list[tuple[Any, str]] = [
    ([], "the log has no samples"),
    ([[1]], "sample 1: it has no 'id' and 'input'"),
    ([{"id": 1}], "sample 1: it has no 'id' and 'input'"),
    ([sample(1, "C", epoch=1.5)], "sample 1: 'epoch' must be a whole number"),  # type: ignore[arg-type]
    ([sample(1, "C"), sample("1", "C")], "two samples have the id '1'"),
]


@pytest.mark.parametrize(("samples", "message"), BAD_SAMPLES)
def test_bad_samples_are_named(tmp_path: Path, samples: list[object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(write_inspect(tmp_path / "log.json", samples))


def test_broken_json_is_named_with_its_line(tmp_path: Path) -> None:
    path = write_inspect(tmp_path / "log.json", [sample(1, "C")])
    path.write_text(path.read_text()[:-40])
    with pytest.raises(UsageError, match=r"log\.json:\d+: not JSON: .* run the evaluation again"):
        read(path)


def test_an_archive_in_zstd_names_the_conversion(tmp_path: Path) -> None:
    """The method 93 stands in the headers; only Python 3.14 and newer read it."""
    path = write_inspect(tmp_path / "log.eval", [sample(1, "C")])
    content = path.read_bytes()
    deflated, zstd = struct.pack("<H", 8), struct.pack("<H", 93)
    for signature, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        pieces = content.split(signature)
        content = signature.join(
            [pieces[0]]
            + [
                piece[: at - 4] + piece[at - 4 : at - 2].replace(deflated, zstd) + piece[at - 2 :]
                for piece in pieces[1:]
            ]
        )
    path.write_bytes(content)
    with pytest.raises(UsageError, match="run 'inspect log convert --to json --output-dir json"):
        read(path)


def test_archives_that_cannot_be_read(tmp_path: Path) -> None:
    path = write_inspect(tmp_path / "log.eval", [sample(1, "C")])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match=r"log\.eval: not a whole \.eval archive: .*: copy it"):
        read(path)
    damaged = bytearray(whole)
    damaged[whole.index(b"samples/0") + 40] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(UsageError, match=r"log\.eval: not a whole \.eval archive"):
        read(path)
    damaged = bytearray(whole)
    damaged[whole.index(b"PK\x01\x02") + 6] = 200  # the version of ZIP that it needs
    path.write_bytes(damaged)
    with pytest.raises(UsageError, match=r"log\.eval: not a whole \.eval archive"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/1_epoch_1.json", "{}")
    with pytest.raises(UsageError, match=r"it has no header\.json"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
    with pytest.raises(UsageError, match=r"header\.json is not that of a log of Inspect"):
        read(path)


def test_members_are_read_within_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member of a megabyte that is a kilobyte in the archive is not expanded whole."""
    logged = [sample(id, "C", store={"zeros": "0" * (1 << 20)}) for id in (1, 2)]
    path = write_inspect(tmp_path / "log.eval", logged)
    assert path.stat().st_size < 20_000
    module = "ragkit_eval.imported.inspect_archive"
    for limit, message in (
        ("MAX_MEMBER_BYTES", r"samples/0_epoch_1\.json is larger than 0 MiB"),
        ("MAX_TOTAL_BYTES", "its samples are larger than 0 MiB"),
        ("_MAX_DIRECTORY_BYTES", "its list of members is too long"),
    ):
        with monkeypatch.context() as limits:
            limits.setattr(f"{module}.{limit}", 100 if limit.startswith("_") else 100_000)
            with pytest.raises(UsageError, match=message):
                read(path)
