"""Labelled sets are read strictly, and graded documents give their best passage."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragkit import KnowledgeBase
from ragkit.errors import NotFoundError, UsageError
from ragkit.types import Span
from ragkit_tune.data.labelled import read_labels, resolve
from ragkit_tune.data.negatives import Miner
from ragkit_tune.data.questions import Question
from ragkit_tune.data.sources import Source, Sources
from tests.databases import Databases
from tests.tune.data.corpora import store_documents, write_labels

FIRST = "The café in Ennis opens at eight in the morning."
SECOND = "Cows graze on the meadow behind the café 🐄 in summer."
SPAN = {"document": "/d/ennis.md", "start": 0, "end": len(FIRST), "text": FIRST}


@pytest.fixture(scope="module")
def kb(databases: Databases) -> Iterator[KnowledgeBase]:
    texts = {
        "/d/ennis.md": [FIRST, SECOND],
        "/d/a/notes.md": ["Trains to Galway leave every two hours."],
        "/d/b/notes.md": ["Ships to Aran leave every morning at ten."],
    }
    with databases.open() as database:
        yield store_documents(database, "towns", texts)


def resolved(kb: KnowledgeBase, path: Path, left_out: Counter[str]) -> list[Question]:
    sources = Sources(kb.store, kb.collection)
    miner = Miner(kb, count=1, seed=0)
    return resolve(read_labels(path), sources, miner.best_passage, left_out)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"question": "a", "anwsers": []}, "unknown field 'anwsers': is 'answers' meant"),
        ({"answers": ["a"]}, "'question' must be a text"),
        ({"question": "a", "answers": "b"}, "'answers' must be a list"),
        ({"question": "a", "answers": [1]}, "each of 'answers' must be a text"),
        ({"question": "a", "relevant": {"x": -1}}, "the grade of 'x' is -1: write 0 or more"),
        ({"question": "a", "relevant": {"x": True}}, "the grade of 'x' is True"),
        ({"question": "a", "answerable": "yes"}, "'answerable' must be true or false"),
        ({"question": "a", "spans": [{"document": "x", "start": 3, "end": 3}]}, "holds nothing"),
        ({"question": "a", "spans": [{"start": 0, "end": 3}]}, "document and text must be texts"),
        ({"question": "a", "spans": [{"stop": 3}]}, "a span has document, start, end and perhaps"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: dict[str, object], message: str) -> None:
    path = write_labels(tmp_path / "set.jsonl", [{"question": "Well?"}, line])
    with pytest.raises(UsageError, match=rf"set\.jsonl:2: .*{message}"):
        read_labels(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="cannot be read"):
        read_labels(tmp_path / "absent.jsonl")
    with pytest.raises(UsageError, match="the set is empty"):
        read_labels(write_labels(tmp_path / "empty.jsonl", []))
    for name in (tmp_path, write_labels(tmp_path / "squad.json", [])):
        with pytest.raises(UsageError, match="no labelled set of ragkit's own format"):
            read_labels(name)


def test_spans_and_graded_documents_give_passages(kb: KnowledgeBase, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"question": "When does the café open?", "spans": [SPAN], "answers": ["eight"]},
        {"question": "Where do the cows graze?", "relevant": {"ennis": 2, "a/notes.md": 0}},
    ]
    first, second = resolved(kb, write_labels(tmp_path / "set.jsonl", lines), Counter())
    assert [place.passage.text for place in first.places] == [FIRST]
    assert (first.places[0].is_exact, first.answers) == (True, ("eight",))
    assert [place.passage.text for place in second.places] == [SECOND]
    assert second.places[0].is_exact is False
    assert second.grades == {"/d/ennis.md": 2, "/d/a/notes.md": 0}


def test_the_offsets_count_code_points(kb: KnowledgeBase, tmp_path: Path) -> None:
    start = len(FIRST) + 2 + SECOND.index("🐄")
    span = {"document": "/d/ennis.md", "start": start, "end": start + 4, "text": "🐄 in"}
    line: dict[str, Any] = {"question": "Which animal is it?", "spans": [span]}
    (question,) = resolved(kb, write_labels(tmp_path / "set.jsonl", [line]), Counter())
    (place,) = question.places
    assert place.passage.text == SECOND
    assert place.span == Span(start, start + 4)


def test_an_ambiguous_name_is_an_error(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = write_labels(tmp_path / "set.jsonl", [{"question": "a b?", "relevant": {"notes.md": 1}}])
    with pytest.raises(UsageError, match=r"set\.jsonl:1: 'notes\.md' may be '/d/a/notes\.md', '/d"):
        resolved(kb, path, Counter())


def test_a_span_across_passages_goes_to_the_one_that_holds_most(kb: KnowledgeBase) -> None:
    sources = Sources(kb.store, kb.collection)
    source: Source = sources.read(sources.named("ennis.md")[0])
    first, second = source.passages
    assert source.holding(Span(10, len(FIRST) + 8)) == first
    assert source.holding(Span(len(FIRST) - 3, len(FIRST) + 30)) == second
    assert source.holding(Span(0, len(source.text))) == second  # the longer one
    assert source.holding(Span(len(FIRST), len(FIRST) + 2)) is None  # the gap between both
