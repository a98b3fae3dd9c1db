"""Data folders from labelled questions on a real database: what holds for every row.

And each planted fault is counted under its name.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from ragkit import KnowledgeBase
from ragkit.errors import UsageError
from ragkit.store.open import Database
from ragkit.text.near_duplicates import signature, similarity
from ragkit_eval.rag.labels import locate
from ragkit_eval.sets import read_set
from ragkit_tune.data.data_set import DataSet, read_pairs
from ragkit_tune.data.make import make_data
from tests.tune.data.corpora import documents, labels, store_documents, write_labels

Line = dict[str, Any]


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return labels(documents())


@pytest.fixture(scope="module")
def data(kb: KnowledgeBase, lines: list[Line], tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    folder = tmp_path_factory.mktemp("made")
    labelled = write_labels(folder / "set.jsonl", lines)
    return make_data(kb, folder / "data", labelled=labelled, seed=1, ask=5)


def make(kb: KnowledgeBase, folder: Path, lines: list[Line], **options: Any) -> DataSet:
    labelled = write_labels(folder / "set.jsonl", lines)
    return make_data(kb, folder / "data", labelled=labelled, **{"negatives": 0, **options})


def texts(kb: KnowledgeBase) -> dict[str, str]:
    return {row.uri: kb.store.text(row.id) for row in kb.store.documents(kb.collection)}


def rows(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_question_is_in_one_split(data: DataSet) -> None:
    assert sum(data.counts.values()) == 80
    assert data.card["left_out"] == {}
    assert data.card["how"] == {"labelled": 80}
    assert min(data.counts.values()) > 0
    assert data.card["clusters"]["all"] == 20


def test_a_larger_share_proves_by_more_questions(
    data: DataSet, kb: KnowledgeBase, lines: list[Line], tmp_path: Path
) -> None:
    half = make(kb, tmp_path, lines, seed=1, test_share=0.5)
    assert half.card["test_share"] == 0.5
    assert 80 * 0.3 <= half.counts["test"] <= 80 * 0.75
    assert half.counts["test"] > data.counts["test"]
    assert sum(half.counts.values()) == 80


def test_every_positive_is_the_text_at_its_span(data: DataSet, kb: KnowledgeBase) -> None:
    stored = texts(kb)
    pairs = read_pairs(data.path("train")) + read_pairs(data.path("dev"))
    assert len(pairs) == data.counts["train"] + data.counts["dev"]
    for pair in pairs:
        assert pair.positive == stored[pair.document][pair.start : pair.end]


def test_no_document_is_in_two_splits_not_even_as_a_negative(
    data: DataSet, kb: KnowledgeBase
) -> None:
    holders = {
        paragraph: uri for uri, text in texts(kb).items() for paragraph in text.split("\n\n")
    }
    train = {pair.document for pair in read_pairs(data.path("train"))}
    dev = {pair.document for pair in read_pairs(data.path("dev"))}
    test = {uri for line in rows(data.path("test")) for uri in line["relevant"]}
    assert (train & dev, train & test, dev & test) == (set(), set(), set())
    pushed = {text for pair in read_pairs(data.path("train")) for text in pair.negatives}
    assert pushed
    assert {holders[text] for text in pushed} <= train


def test_passages_of_the_test_that_nobody_asks_about_are_no_negatives_either(
    kb: KnowledgeBase, lines: list[Line], tmp_path: Path
) -> None:
    asked = [line for line in lines if not line["id"].endswith("filters")]
    made = make(kb, tmp_path, asked, negatives=3)
    holders = {
        paragraph: uri for uri, text in texts(kb).items() for paragraph in text.split("\n\n")
    }
    pairs = read_pairs(made.path("train"))
    pushed = {text for pair in pairs for text in pair.negatives}
    assert any("filters" in text for text in pushed)
    assert {holders[text] for text in pushed} <= {pair.document for pair in pairs}


def test_negatives_are_further_away_and_no_copies(data: DataSet, kb: KnowledgeBase) -> None:
    embedder = kb.embedder
    pairs = [pair for pair in read_pairs(data.path("train")) if pair.negatives]
    assert pairs
    for pair in pairs:
        assert len(pair.negatives) <= 3
        query = embedder.embed_query(pair.query)
        positive = float(query @ embedder.embed_query(pair.positive))
        for text in pair.negatives:
            assert float(query @ embedder.embed_query(text)) <= 0.95 * positive + 1e-6
            assert similarity(signature(text), signature(pair.positive)) < 0.5


def test_the_test_is_a_set_that_ragkit_eval_reads(data: DataSet, kb: KnowledgeBase) -> None:
    labelled = read_set(data.path("test"))
    assert len(labelled.questions) == data.counts["test"]
    uris = locate(labelled, kb.store, kb.collection)
    assert set(uris.values()) <= set(texts(kb))
    for question in labelled.questions:
        (excerpt,) = question.excerpts
        subject = question.text.split(" of the ")[1].split()[0]
        assert subject in texts(kb)[excerpt.document][excerpt.start : excerpt.end].casefold()


def test_the_same_seed_makes_the_same_bytes(
    data: DataSet, kb: KnowledgeBase, lines: list[Line], tmp_path: Path
) -> None:
    second = make(kb, tmp_path, lines, seed=1, ask=5, negatives=3)
    for name in ("train.jsonl", "dev.jsonl", "test.jsonl", "card.json", "card.md", "ask.jsonl"):
        assert (second.folder / name).read_bytes() == (data.folder / name).read_bytes()
    (tmp_path / "other").mkdir()
    assert make(kb, tmp_path / "other", lines, seed=2).hash != data.hash


def test_the_passages_to_ask_about_can_be_answered_and_read_again(
    data: DataSet, kb: KnowledgeBase, lines: list[Line], tmp_path: Path
) -> None:
    asked = rows(data.folder / "ask.jsonl")
    assert len(asked) == 5
    assert {line["question"] for line in asked} == {""}
    asked[0]["question"] = "Which of these was asked for?"
    made = make(kb, tmp_path, lines + asked)
    assert made.card["left_out"] == {"its question is blank": 4}
    assert sum(made.counts.values()) == 81


def test_the_card_in_words_says_what_the_questions_can_show(data: DataSet) -> None:
    words = (data.folder / "card.md").read_text(encoding="utf-8")
    assert f"{data.counts['test']} questions to test by show a difference of about" in words
    assert "No document is in two of these parts" in words
    assert "can repeat it" in words
    assert data.hash in words


def test_rows_are_drawn_from_each_document_in_turn(
    kb: KnowledgeBase, lines: list[Line], tmp_path: Path
) -> None:
    made = make(kb, tmp_path, lines, rows=60)
    assert sum(made.counts.values()) == 60
    groups = [
        pair.group
        for split in ("train", "dev")
        for pair in read_pairs(made.folder / f"{split}.jsonl")
    ]
    assert max(groups.count(group) for group in groups) == 3


# -- planted faults --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"question": " "}, "its question is blank"),
        ({"question": "What is said of the pumps at Bray?"}, "the same question and passage again"),
        ({"answerable": False}, "the documents do not answer it"),
        ({"spans": []}, "no document or span is labelled"),
        (
            {"spans": [{"document": "/d/bray.md", "start": 0, "end": 9, "text": "The pomps"}]},
            "its document changed since it was labelled",
        ),
        (
            {"spans": [{"document": "/d/bray.md", "start": 0, "end": 9999}]},
            "its document changed since it was labelled",
        ),
        (
            {"spans": [{"document": "/d/gone.md", "start": 0, "end": 9}]},
            "its document is not in the collection",
        ),
        (
            {"question": "The pumps of Bray move 120 litres of water an hour from the river to"
             " the tank. Is that so?"},
            "the question repeats a sentence of the passage",
        ),
    ],
)  # fmt: skip
def test_a_planted_fault_is_counted_under_its_name(
    kb: KnowledgeBase, lines: list[Line], tmp_path: Path, change: Line, reason: str
) -> None:
    span = lines[4]["spans"]
    planted = {"id": "planted", "question": "How much do they move?", "spans": span, **change}
    made = make(kb, tmp_path, [*lines, planted])
    assert made.card["left_out"] == {reason: 1}
    assert sum(made.counts.values()) == 80
    assert reason in (made.folder / "card.md").read_text(encoding="utf-8")


def test_another_language_is_left_out_on_demand(
    kb: KnowledgeBase, lines: list[Line], tmp_path: Path
) -> None:
    chinese = {**lines[4], "id": "zh", "question": "布雷的水泵每小时输送多少升水？"}
    made = make(kb, tmp_path, [*lines, chinese], language="en")
    assert made.card["left_out"] == {"another language than --language": 1}


def test_a_query_of_the_test_is_not_trained_on(
    kb: KnowledgeBase, data: DataSet, lines: list[Line], tmp_path: Path
) -> None:
    asked = rows(data.path("test"))[0]["question"]
    trained = read_pairs(data.path("train"))[0]
    leaked = {
        "id": "leak",
        "question": asked.upper(),
        "spans": [{"document": trained.document, "start": trained.start, "end": trained.end}],
    }
    made = make(kb, tmp_path, [*lines, leaked], seed=1)
    assert made.card["left_out"] == {"its question is asked in another part": 1}
    assert asked.upper() not in {pair.query for pair in read_pairs(made.path("train"))}


def test_a_passage_that_holds_a_question_of_the_test_is_not_trained_on(
    database: Database, tmp_path: Path
) -> None:
    collection, asked = documents(), labels(documents())
    for number, uri in enumerate([*collection]):
        place = [*collection][number - 1][3:-3].title()
        quoted = f"Often somebody asks: What is said of the visitors at {place}? We do not know it."
        collection[uri].append(quoted)
        start = sum(len(text) + 2 for text in collection[uri][:-1])
        span = {"document": uri, "start": start, "end": start + len(quoted)}
        asked.append(
            {"id": uri, "question": f"Which open matter has {uri[3:-3]}?", "spans": [span]}
        )
    made = make(store_documents(database, "quoting", collection), tmp_path, asked)
    assert made.card["left_out"]["its passage holds a question of another part"] > 0
    queries = {line["question"] for line in rows(made.path("test"))}
    for pair in read_pairs(made.path("train")):
        assert not any(query in pair.positive for query in queries)


def test_near_duplicates_stay_on_one_side(database: Database, tmp_path: Path) -> None:
    collection = documents()
    for uri in [*collection][:10]:
        *paragraphs, last = collection[uri]
        collection[f"{uri}.copy"] = [*paragraphs, f"{last} Edited since."]
    asked = labels(documents())
    copied = [
        {
            "id": f"{line['id']} again",
            "question": f"Once more: {line['question']}",
            "spans": [
                {"document": f"{span['document']}.copy", "start": span["start"], "end": span["end"]}
                for span in line["spans"]
            ],
        }
        for line in asked[:40]
    ]
    made = make(store_documents(database, "copied", collection), tmp_path, asked + copied)
    assert (made.card["clusters"]["documents"], made.card["clusters"]["all"]) == (30, 20)
    train = {pair.document.removesuffix(".copy") for pair in read_pairs(made.path("train"))}
    tested = {
        uri.removesuffix(".copy") for line in rows(made.path("test")) for uri in line["relevant"]
    }
    assert train & tested == set()


def test_near_passages_of_other_documents_are_left_out(database: Database, tmp_path: Path) -> None:
    collection, asked = documents(), labels(documents())
    notice = (
        "This page is the property of the Atlantic Pump Company and may not be passed on to"
        " anybody who has not signed the agreement of 2019 on the confidentiality of pumps."
    )
    for uri, paragraphs in collection.items():
        start = sum(len(text) + 2 for text in paragraphs)
        paragraphs.append(notice)
        span = {"document": uri, "start": start, "end": start + len(notice)}
        asked.append({"id": uri, "question": f"Who owns {uri[3:-3]}'s page?", "spans": [span]})
    made = make(store_documents(database, "notices", collection), tmp_path, asked, negatives=3)
    tests = [line for line in rows(made.path("test")) if "owns" in line["question"]]
    assert made.card["left_out"] == {"its passage is nearly one of another part": 20 - len(tests)}
    assert notice not in {pair.positive for pair in read_pairs(made.path("train"))}
    assert notice not in {
        text for pair in read_pairs(made.path("train")) for text in pair.negatives
    }


def test_long_passages_are_counted_as_truncated(
    kb: KnowledgeBase, lines: list[Line], tmp_path: Path
) -> None:
    assert make(kb, tmp_path, lines, max_tokens=13).card["quality"]["truncated"] == 40


# -- refusals --------------------------------------------------------------------------------------


def test_more_than_a_tenth_of_faults_is_an_error(
    kb: KnowledgeBase, lines: list[Line], tmp_path: Path
) -> None:
    twice = lines + [{**line, "id": f"{line['id']} again"} for line in lines[:9]]
    with pytest.raises(
        UsageError,
        match=r"9 of 89 rows have a fault: the same question and passage again \(9\): mend them",
    ):
        make(kb, tmp_path, twice)
    made = make(kb, tmp_path, twice, allow_dropped=True)
    assert made.card["left_out"] == {"the same question and passage again": 9}


def test_too_few_rows_are_refused(kb: KnowledgeBase, lines: list[Line], tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="only 49 rows could be made by labelled: a model needs 50"
    ):
        make(kb, tmp_path, lines[:49])
    assert not (tmp_path / "data").exists()


def test_one_document_cannot_be_split(database: Database, tmp_path: Path) -> None:
    collection = {"/d/arklow.md": documents()["/d/arklow.md"]}
    single = store_documents(database, "single", collection)
    with pytest.raises(UsageError, match="'single' has one document: a model cannot be proven"):
        make(single, tmp_path, labels(collection))
    copies = {f"/d/{n}.md": collection["/d/arklow.md"] for n in range(3)}
    with pytest.raises(UsageError, match="'copies' has 3 near-duplicates"):
        make(store_documents(database, "copies", copies), tmp_path, labels(collection))


def test_an_empty_collection_is_refused(database: Database, tmp_path: Path) -> None:
    empty = store_documents(database, "empty", {})
    with pytest.raises(UsageError, match="'empty' has no documents: take some in with `ragkit in"):
        make(empty, tmp_path, labels(documents()))


def test_one_group_cannot_be_split(kb: KnowledgeBase, lines: list[Line], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one group: there is nothing to prove a model on"):
        make(kb, tmp_path, [{**line, "group": "all"} for line in lines])


def test_an_unknown_how_and_a_missing_set_are_refused(kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--how 'guesses' is unknown: choose among headings"):
        make_data(kb, tmp_path / "data", hows=["guesses"])
    with pytest.raises(UsageError, match="--how labelled needs a labelled set"):
        make_data(kb, tmp_path / "data", hows=["labelled"])
