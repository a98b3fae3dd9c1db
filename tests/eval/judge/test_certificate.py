"""What makes a judge usable, and how that is kept and found again."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import UsageError
from ragkit.settings.settings import Settings
from ragkit_eval.judge import open_judge
from ragkit_eval.judge.agreement import Agreement, agreement
from ragkit_eval.judge.certificate import (
    certificate_json,
    checks,
    find,
    keep,
    mark,
    path_of,
    usable,
)


def _agreement(items: int = 60, *, wrong: int = 0, failed: int = 0, fickle: int = 0) -> Agreement:
    """Half are labelled right; some are judged wrongly, some not at all, some otherwise later."""
    labels = [float(i % 2) for i in range(items)]
    scores: list[float | None] = [*labels]
    for i in range(wrong):
        scores[i] = 1 - labels[i]
    for i in range(items - failed, items):
        scores[i] = None
    repeated = [0.5 if i < fickle else score for i, score in enumerate(scores)]
    return agreement(scores, repeated, labels, [""] * items, list(range(items)))


def _values(measured: Agreement, signature: str = "judge|x") -> dict[str, Any]:
    return certificate_json(
        signature,
        measured,
        created="2026-11-21T12:00:00+00:00",
        data_name="a.jsonl",
        data_hash="0f",
    )


def test_a_judge_that_agrees_is_usable() -> None:
    assert usable(_agreement())
    assert usable(_agreement(wrong=6))  # kappa .8


@pytest.mark.parametrize(
    ("measured", "failed"),
    [
        (_agreement(48), {"answers"}),
        (_agreement(wrong=14), {"kappa", "kappa, lower end"}),
        (
            _agreement(failed=2),
            {"unreadable replies"},
        ),
        (_agreement(fickle=4), {"same verdict twice"}),
    ],
)
def test_one_condition_that_fails_is_enough(measured: Agreement, failed: set[str]) -> None:
    assert {check.name for check in checks(measured) if not check.passed} == failed
    assert not usable(measured)


def test_labels_of_one_kind_tell_nothing() -> None:
    measured = agreement([1.0] * 60, [1.0] * 60, [1.0] * 60, [""] * 60, [1] * 60)
    failed = {check.name: check.measured for check in checks(measured) if not check.passed}
    assert failed == {"answers of the rarer label": 0, "kappa": None, "kappa, lower end": None}


def test_a_certificate_is_found_by_its_judges_signature_alone(tmp_path: Path) -> None:
    assert find("judge|x", tmp_path) is None
    path = keep(_values(_agreement()), tmp_path)
    assert path.parent == tmp_path / "judges"
    certificate = find("judge|x", tmp_path)
    assert certificate is not None
    assert (certificate.items, certificate.kappa, certificate.usable) == (60, 1.0, True)
    assert (certificate.data_name, certificate.created) == ("a.jsonl", "2026-11-21T12:00:00+00:00")
    assert mark(certificate) == "checked:kappa=1.00,n=60"
    assert find("judge|y", tmp_path) is None
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_judge_that_failed_is_marked_so(tmp_path: Path) -> None:
    keep(_values(_agreement(wrong=30)), tmp_path)
    assert mark(find("judge|x", tmp_path)) == "failed:kappa=0.00,n=60"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1, "signature": "judge|x"}'])
def test_a_damaged_certificate_is_no_certificate(text: str, tmp_path: Path) -> None:
    path = path_of("judge|x", tmp_path)
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"not the certificate of a judge: .*: remove it, and run"):
        find("judge|x", tmp_path)


def test_a_certificate_of_another_format_or_judge_does_not_count(tmp_path: Path) -> None:
    path = keep(_values(_agreement()), tmp_path)
    for changed in ({"format": 2}, {"signature": "judge|z"}):
        path.write_text(json.dumps(_values(_agreement()) | changed), encoding="utf-8")
        assert find("judge|x", tmp_path) is None


def test_open_judge_ends_the_signature_with_what_was_found(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, llm_url="http://127.0.0.1:9/v1", llm_model="m")
    signature = open_judge("llm", settings).signature
    assert signature.endswith("|unchecked")
    keep(_values(_agreement(wrong=3), signature.removesuffix("|unchecked")), tmp_path)
    assert open_judge("llm", settings).signature.endswith("|v:1|checked:kappa=0.90,n=60")
    assert open_judge("llm:faithfulness", settings).signature.endswith("|unchecked")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="set RAGKIT_HOME to a folder of yours"):
        keep(_values(_agreement()), tmp_path / "file")
