"""What a run's summary says to people."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ragkit_eval.rag.printing import print_summary
from ragkit_eval.rag.summary import sum_up
from tests.eval.runs import run_of


@pytest.mark.parametrize(
    ("values", "worst"),
    [((1.0, 0.5, None), ["error  2: ", "0.500  1: "]), ((1.0, 1.0), [])],
)
def test_the_worst_are_those_that_are_not_right(
    values: Sequence[float | None],
    worst: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_summary(sum_up(run_of(tmp_path / "run.jsonl", values)), out=None, notes=[])
    _, heading, told = capsys.readouterr().out.partition("The worst by acc\n")
    assert bool(heading) == bool(worst)
    assert told.splitlines()[::2] == worst
