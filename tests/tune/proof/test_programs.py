"""Evaluations of a proof: what is told of each, without a database."""

import json
from pathlib import Path

from ragkit_tune.proof.programs import Evaluations


def program(arguments: list[str], variables: dict[str, str]) -> str:
    """Answer as `ragkit eval` does: a summary of a run, and a comparison of two."""
    if arguments[1] != "compare":
        return json.dumps({"scores": {"ndcg@10": 0.5}, "errors": 0})
    row = {
        **{"metric": "ndcg@10", "items": 9, "clusters": 9, "p": 1.0, "detectable": None},
        **{"a": {"mean": 0.5}, "b": {"mean": 0.5}},
        "difference": {"mean": 0.0, "low": 0.0, "high": 0.0},
    }
    return json.dumps({"rows": [row]})


def test_each_evaluation_is_told_with_its_number(tmp_path: Path) -> None:
    told: list[str] = []
    evaluations = Evaluations(
        program,  # type: ignore[arg-type]
        tmp_path,
        variables={},
        total=4,
        progress=told.append,
    )
    evaluations.search("hybrid", tmp_path / "q.jsonl", "c")
    evaluations.search("dense", tmp_path / "q.jsonl", "c", "dense")
    assert told == [
        "1 of 4: hybrid: baseline",
        "2 of 4: hybrid: candidate",
        "3 of 4: dense: baseline",
        "4 of 4: dense: candidate",
    ]
