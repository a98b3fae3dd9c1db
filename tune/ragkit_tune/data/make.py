"""Make a data folder from a collection: questions, checks, split, negatives, card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import UsageError
from ragkit_tune.data import ask as asking
from ragkit_tune.data.card import describe_card, make_card
from ragkit_tune.data.checks import FAULTS, Blocked, Row, check_questions, make_rows
from ragkit_tune.data.clusters import Clusters, Division, cluster_documents, divide
from ragkit_tune.data.data_set import (
    DataSet,
    PairRow,
    Split,
    check_new_folder,
    write_data_set,
    write_rows,
    write_whole,
)
from ragkit_tune.data.feedback import rated_questions
from ragkit_tune.data.labelled import read_labels, resolve
from ragkit_tune.data.negatives import Miner
from ragkit_tune.data.quality import describe, find_odd
from ragkit_tune.data.questions import HOWS, Question, digest, drawn
from ragkit_tune.data.rules import KINDS, how_made, make_labels
from ragkit_tune.data.sources import Sources

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings
    from ragkit.types import Hit

DEFAULT_HOWS: Final = ("headings", "tables", "numbers", "definitions", "cloze", "feedback")
FEWEST: Final = 50  # rows; fewer change a model by chance; arbitrary
MAX_FAULTS: Final = 0.1  # share of rows that may be left out by faults
ASKED: Final = 500  # questions for a language model to write, without --rows; arbitrary

# A passage of the test is no negative either: to be pushed away is to be trained on.
_NEGATIVES_FROM: Final[Mapping[Split, Sequence[Split]]] = {
    "train": ("train",),
    "dev": ("train", "dev"),
    "test": (),
}

Progress = Callable[[str, int, int], None]


def make_data(
    kb: KnowledgeBase,
    out: Path,
    *,
    settings: Settings | None = None,
    hows: Sequence[str] = (),
    labelled: Path | None = None,
    language: str = "",
    rows: int = 0,
    seed: int = 0,
    negatives: int = 3,
    max_tokens: int = 256,
    allow_dropped: bool = False,
    ask: int = 0,
    progress: Progress = lambda stage, done, total: None,
) -> DataSet:
    """Make rows to train an embedder or reranker with, from the documents of a knowledge base.

    `hows` are keys of `HOWS`; without any, all rules and feedback, or `labelled` alone where that
    set is given. At most `rows` rows are made, 0 for all. Questions are made by a program that
    reads the environment's settings. Raises UsageError for a collection that has too few documents
    or gives fewer than 50 rows, and when over a tenth of the rows is left out by faults, unless
    `allow_dropped`.
    """
    from ragkit.embed.current import current

    hows = check_hows(hows, labelled)
    check_new_folder(out)
    labels = read_labels(labelled) if labelled else []
    sources = Sources(kb.store, kb.collection)
    total = len(sources.documents)
    clusters = cluster_documents(sources, lambda n: progress("comparing documents", n, total))
    embedder = current(kb.embedder)
    embedder.load()
    miner = Miner(kb, count=negatives, seed=seed)
    left_out: Counter[str] = Counter()
    questions: list[Question] = []
    if labels:
        progress("finding labelled passages", 0, 0)
        questions += resolve(labels, sources, miner.best_passage, left_out)
    if "feedback" in hows:
        settings = settings or _settings(kb)
        questions += rated_questions(kb, settings, sources, left_out)
    written_by = ""
    for group in _groups(hows):
        by_model = "asked" in group
        progress("letting the model ask" if by_model else "asking by rules", 0, 0)
        made, model = make_labels(
            kb.collection,
            group,
            count=(rows or ASKED) if by_model else 0,
            language=language,
            seed=seed,
        )
        written_by = written_by or model
        questions += resolve(made, sources, miner.best_passage, left_out, how=how_made)
    questions = _limit(check_questions(questions, language, left_out), rows, seed)
    _check_count(sum(len(question.places) for question in questions), hows)
    division = divide(questions, clusters, seed)
    blocked = Blocked()
    made_rows = make_rows(questions, clusters, division, left_out, blocked)
    _check_faults(made_rows, left_out, allow_dropped)
    _check_count(len(made_rows), hows)
    mined = _mine(made_rows, miner, clusters, division, blocked, progress)
    progress("writing", 0, 0)
    facts = {
        "collection": kb.collection,
        "language": language,
        "model": embedder.space.model,
        "seed": seed,
        "written_by": written_by,
    }
    quality = describe(mined, embedder, max_tokens)
    card = make_card(mined, clusters, left_out, quality, facts)
    lines = (
        asking.choose_passages(mined, kb.store, kb.collection, embedder, count=ask, seed=seed)
        if ask
        else []
    )
    return _write(out, mined, clusters, card, _review(mined, kb, embedder, seed), lines)


def check_hows(hows: Sequence[str], labelled: Path | None) -> tuple[str, ...]:
    """Return how questions are made. Raises UsageError for an unknown name, or none to do."""
    for how in hows:
        if how not in HOWS:
            raise UsageError(f"--how {how!r} is unknown: choose among {', '.join(HOWS)}")
    if "labelled" in hows and labelled is None:
        raise UsageError("--how labelled needs a labelled set: name it with --set FILE.jsonl")
    if labelled is not None:
        return tuple(dict.fromkeys([*hows, "labelled"]))
    return tuple(dict.fromkeys(hows)) or DEFAULT_HOWS


def _groups(hows: Sequence[str]) -> list[list[str]]:
    """Group what `ragkit eval testset` makes in one call: what rules make, and what a model."""
    made = [how for how in hows if how in KINDS.values()]
    by_rules = [how for how in made if how != "asked"]
    return [group for group in (by_rules, ["asked"] if "asked" in made else []) if group]


def _settings(kb: KnowledgeBase) -> Settings:
    from ragkit.settings.settings import load_settings

    return kb.owner.settings if kb.owner else load_settings()


def _limit(questions: Sequence[Question], rows: int, seed: int) -> list[Question]:
    """Draw questions of up to so many rows, from each document in turn, gaps to fill last."""
    turns: Counter[str] = Counter()
    ordered = []
    for question in sorted(
        questions, key=lambda question: (question.how == "cloze", drawn(seed, question.text))
    ):
        uri = question.places[0].passage.uri
        ordered.append((turns[uri], drawn(seed, uri), question))
        turns[uri] += 1
    ordered.sort(key=lambda item: item[:2])
    chosen: list[Question] = []
    count = 0
    for _, _, question in ordered:
        if rows and count >= rows:
            break
        places = question.places[: rows - count] if rows else question.places
        chosen.append(replace(question, places=places))
        count += len(places)
    return chosen


def _check_count(count: int, hows: Sequence[str]) -> None:
    if count < FEWEST:
        tried = ", ".join(hows)
        raise UsageError(
            f"{count} rows could be made by {tried}: a model needs {FEWEST} at least: ingest more"
            " documents, let people rate answers (`ragkit conversations feedback`), or write"
            " questions, for which `ragkit eval testset` makes a file to begin with, and pass --set"
        )


def _check_faults(rows: Sequence[Row], left_out: Mapping[str, int], allow_dropped: bool) -> None:
    faults = Counter({reason: n for reason, n in left_out.items() if reason in FAULTS})
    considered = len(rows) + sum(left_out.values())
    if faults.total() > MAX_FAULTS * considered and not allow_dropped:
        listed = ", ".join(f"{reason} ({count})" for reason, count in faults.most_common())
        raise UsageError(
            f"{faults.total()} of {considered} rows have a fault: {listed}: mend them, or leave"
            " them out with --allow-dropped"
        )


def _mine(
    rows: Sequence[Row],
    miner: Miner,
    clusters: Clusters,
    division: Division,
    blocked: Blocked,
    progress: Progress,
) -> list[Row]:
    """Find negatives for each row in documents of its split, for dev in those of train too."""
    mined = []
    for n, row in enumerate(rows):
        allowed = _NEGATIVES_FROM[row.split]

        def is_allowed(hit: Hit, allowed: Sequence[Split] = allowed) -> bool:
            cluster = clusters.of.get(hit.uri, "")
            is_inside = division.of_cluster.get(cluster, "test") in allowed
            return is_inside and not blocked.is_near(hit)

        mined.append(replace(row, rivals=miner.mine(row.question, row.place, is_allowed)))
        progress("searching for negatives", n + 1, len(rows))
    return mined


def _write(
    out: Path,
    rows: Sequence[Row],
    clusters: Clusters,
    card: Mapping[str, Any],
    review: Sequence[Mapping[str, Any]],
    lines: Sequence[Mapping[str, Any]],
) -> DataSet:
    files: dict[Split, Iterable[Mapping[str, Any]]] = {
        "train": [_pair(row, clusters) for row in rows if row.split == "train"],
        "dev": [_pair(row, clusters) for row in rows if row.split == "dev"],
        "test": _test_lines([row for row in rows if row.split == "test"], clusters),
    }
    data = write_data_set(out, "pairs", files, {**card, "review": len(review)})
    if review:
        write_rows(out / "review.jsonl", review)
    if lines:
        write_rows(out / "ask.jsonl", lines)
    write_whole(out / "card.md", "\n".join(describe_card(data.card)) + "\n")
    return data


def _pair(row: Row, clusters: Clusters) -> dict[str, Any]:
    question, passage = row.question, row.place.passage
    return PairRow(
        digest(question.text, passage.uri, passage.start)[:12],
        question.text,
        passage.text,
        passage.uri,
        passage.start,
        passage.end,
        row.rivals.negatives,
        question.how,
        question.language,
        question.group or clusters.of[passage.uri],
    ).as_json()


def _test_lines(rows: Sequence[Row], clusters: Clusters) -> list[dict[str, Any]]:
    """Write the questions of the test as a labelled set of `ragkit eval`."""
    questions = {row.question.id: row.question for row in rows}
    lines = []
    for name, question in questions.items():
        first = question.places[0].passage
        spans = [
            {
                "document": place.passage.uri,
                "start": place.span.start,
                "end": place.span.end,
            }
            for place in question.places
            if place.is_exact
        ]
        line = {
            "id": name,
            "question": question.text,
            "answers": list(question.answers),
            "relevant": dict(question.grades) or dict.fromkeys(question.uris, 1),
            "spans": spans,
            "group": question.group or clusters.of[first.uri],
            "tags": {"how": question.how, "language": question.language},
        }
        lines.append({key: value for key, value in line.items() if value} | {"answerable": True})
    return lines


def _review(
    rows: Sequence[Row], kb: KnowledgeBase, embedder: Embedder, seed: int
) -> list[dict[str, Any]]:
    return [
        {
            "id": digest(odd.row.question.text, passage.uri, passage.start)[:12],
            "split": odd.row.split,
            "z": odd.z,
            "loss": odd.loss,
            "query": odd.row.question.text,
            "positive": passage.text,
            "document": passage.uri,
            "start": passage.start,
            "end": passage.end,
        }
        for odd in find_odd(rows, kb.store, embedder, seed)
        for passage in (odd.row.place.passage,)
    ]
