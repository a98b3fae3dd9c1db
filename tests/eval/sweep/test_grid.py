"""A grid is read whole or refused with the key that is wrong; halves share no cluster."""

from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_eval.sets import LabelledSet, Question
from ragkit_eval.sweep.grid import Grid, read_grid
from ragkit_eval.sweep.split import halves


def grid(tmp_path: Path, text: str) -> Grid:
    path = tmp_path / "grid.toml"
    path.write_text(text, encoding="utf-8")
    return read_grid(path)


def test_cells_are_all_combinations_the_first_values_first(tmp_path: Path) -> None:
    read = grid(
        tmp_path,
        'metric = "contains"\n[grid]\nmode = ["hybrid", "dense"]\npassages = [4, 8]\n'
        "llm_temperature = 0.5\n",
    )
    assert (read.task, read.metric, read.stores) == ("answers", "contains", False)
    assert [cell.label for cell in read.cells()] == [
        "mode=hybrid, passages=4",
        "mode=hybrid, passages=8",
        "mode=dense, passages=4",
        "mode=dense, passages=8",
    ]
    assert read.cells()[0].settings() == {"llm_temperature": 0.5}
    assert len({cell.stem for cell in read.cells()}) == 4


def test_cells_that_store_alike_share_a_collection(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    read = grid(
        tmp_path,
        'task = "retrieval"\ndocuments = ["docs"]\n'
        '[grid]\nchunk_tokens = [64, 128]\nmode = ["hybrid", "lexical"]\n',
    )
    assert read.documents == (tmp_path / "docs",)
    names = [cell.collection("docs") for cell in read.cells()]
    assert names[0] == names[1] != names[2] == names[3]
    assert read.cells()[0].collection("other") != names[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[grid", "not TOML"),
        ("", r"there is no \[grid\]"),
        ("[grid]\nmodes = ['dense', 'hybrid']", "unknown: modes: did you mean mode"),
        ("metrics = 'x'\n[grid]\nmode = ['dense', 'hybrid']", "did you mean metric"),
        ("[grid]\nmode = ['dense']", "nothing varies"),
        ("[grid]\nmode = []", "mode has no value"),
        ("[grid]\nmode = ['dense', 'dense']", "mode has a value twice"),
        ("[grid]\nmode = ['dense', 'fast']", "mode = 'fast': it takes one of hybrid"),
        ("[grid]\npassages = [4, 0]", "passages = 0: it takes a whole number"),
        ("[grid]\npassages = [4, true]", "passages = True"),
        ("[grid]\nrefusal_threshold = [0, 2]", "refusal_threshold = 2"),
        ("[grid]\nllm_seed = [[1], 2]", "llm_seed = .1.: it takes a number or a text"),
        ("task = 'chat'\n[grid]\nmode = ['dense', 'hybrid']", "task = 'chat'"),
        ("task = 'retrieval'\n[grid]\npassages = [4, 8]", "passages changes no search"),
        ("documents = ['no']\n[grid]\nchunk_tokens = [64, 128]", "no documents in .*no"),
        (f"[grid]\npassages = {list(range(1, 101))}\nllm_seed = [1, 2, 3]", "300 cells"),
    ],
)
def test_what_is_wrong_in_a_grid_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        grid(tmp_path, text)
    assert "grid.toml" in str(raised.value)


def questions(clusters: int) -> LabelledSet:
    """Four questions about each of so many documents."""
    return LabelledSet(
        "set",
        {},
        tuple(
            Question(f"{document}-{number}", "?", answers=("a",), group=f"document {document}")
            for document in range(clusters)
            for number in range(4)
        ),
    )


def test_halves_share_no_cluster_and_are_about_as_large() -> None:
    first, second = halves(questions(11), seed=0)
    assert {q.group for q in first.questions}.isdisjoint(q.group for q in second.questions)
    assert {len(first.questions), len(second.questions)} == {20, 24}


def test_halves_do_not_depend_on_the_order_but_on_the_seed() -> None:
    whole = questions(10)
    turned = LabelledSet("set", {}, whole.questions[::-1])
    ids = {q.id for q in halves(whole, seed=0)[0].questions}
    assert {q.id for q in halves(turned, seed=0)[0].questions} == ids
    assert {q.id for q in halves(whole, seed=1)[0].questions} != ids


def test_too_few_clusters_cannot_be_halved() -> None:
    with pytest.raises(UsageError, match="3 independent groups of questions"):
        halves(questions(3), seed=0)
