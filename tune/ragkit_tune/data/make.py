"""Make a data folder from a collection: questions, checks, split, negatives, card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.errors import UsageError
from ragkit_tune.data.ask import choose_passages
from ragkit_tune.data.card import make_card
from ragkit_tune.data.checks import (
    FAULTS,
    FEWEST,
    Blocked,
    Row,
    check_faults,
    check_questions,
    make_rows,
)
from ragkit_tune.data.clusters import (
    TEST_SHARE,
    Clusters,
    Division,
    cluster_documents,
    divide,
)
from ragkit_tune.data.data_set import DataSet, Split, check_new_folder
from ragkit_tune.data.gather import Gathering, Progress, check_hows, limit_rows
from ragkit_tune.data.labelled import read_labels
from ragkit_tune.data.negatives import Miner
from ragkit_tune.data.next_step import beside_labelled
from ragkit_tune.data.quality import describe, find_odd
from ragkit_tune.data.questions import Question
from ragkit_tune.data.sources import Sources
from ragkit_tune.data.write import write_data, write_passages
from ragkit_tune.recipe import make_recipe

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings
    from ragkit.types import Hit

ALONE: Final = {"labelled"}  # how questions are made where a set is given, and no --how
# A passage of the test is no negative either: to be pushed away is to be trained on.
_NEGATIVES_FROM: Final[Mapping[Split, Sequence[Split]]] = {
    "train": ("train",),
    "dev": ("train", "dev"),
    "test": (),
}


class OnlyPassages(UsageError):
    """No rows were made, for a reason; the passages to write questions about are in `path`."""

    def __init__(self, reason: str, path: Path) -> None:
        super().__init__(f"{reason}: no rows were written, but passages to ask about, to {path}")
        self.reason = reason
        self.path = path


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
    max_tokens: int | None = None,
    allow_dropped: bool = False,
    ask: int = 0,
    test_share: float = TEST_SHARE,
    progress: Progress = lambda stage, done, total: None,
) -> DataSet:
    """Make rows to train an embedder or reranker with, from the documents of a knowledge base.

    `hows` are keys of `HOWS`; without any, all rules and feedback, or `labelled` alone where that
    set is given. At most `rows` rows are made, 0 for all. `max_tokens` of a passage will be trained
    on; without it, as many as by a recipe's default. Questions are made by a program that reads the
    environment's settings. Raises UsageError for a collection that has too few documents or gives
    fewer than 50 rows, and when over a tenth of the rows is left out by faults, unless
    `allow_dropped`; with `ask`, passages are listed all the same, and the error is OnlyPassages.
    """
    from ragkit.embed.current import current

    hows = check_hows(hows, labelled)
    check_new_folder(out)
    labels = read_labels(labelled) if labelled else []
    sources = Sources(kb.store, kb.collection)
    clusters = _cluster(sources, progress)
    embedder = current(kb.embedder)
    embedder.load()
    miner = Miner(kb, count=negatives, seed=seed)
    gathering = Gathering(kb, settings or _settings(kb), sources, miner, progress)
    gathering.label(labels)
    gathering.make(hows, rows=rows, language=language, seed=seed)
    left_out, blocked = gathering.left_out, Blocked()
    passing = check_questions(gathering.questions, language, left_out)
    questions = limit_rows(passing, clusters, rows, seed)
    try:
        count = sum(len(question.places) for question in questions)
        _check(count, hows, left_out, allow_dropped, ask)
        division = divide(questions, clusters, seed, test_share)
        split_rows = make_rows(questions, clusters, division, left_out, blocked)
        _check(len(split_rows), hows, left_out, allow_dropped, ask)
    except UsageError as error:
        unsplit = _mine_some(passing, miner, 4 * ask)
        lines = choose_passages(unsplit, kb.store, kb.collection, embedder, count=ask, seed=seed)
        if not lines:
            raise
        raise OnlyPassages(str(error), write_passages(out, lines)) from error
    mined = _mine(split_rows, miner, clusters, division, blocked, progress)
    progress("writing", 0, 0)
    facts = {
        "collection": kb.collection,
        "language": language,
        "model": embedder.space.model,
        "seed": seed,
        "test_share": test_share,
        "written_by": gathering.written_by,
    }
    quality = describe(mined, embedder, max_tokens or _trained_tokens())
    card = make_card(mined, clusters, left_out, quality, facts)
    odd = find_odd(mined, kb.store, embedder, seed)
    lines = choose_passages(mined, kb.store, kb.collection, embedder, count=ask, seed=seed)
    return write_data(out, mined, clusters, card, odd, lines)


def _cluster(sources: Sources, progress: Progress) -> Clusters:
    total = len(sources.documents)
    return cluster_documents(sources, lambda n: progress("comparing documents", n, total))


def _settings(kb: KnowledgeBase) -> Settings:
    from ragkit.settings.settings import load_settings

    return kb.owner.settings if kb.owner else load_settings()


def _trained_tokens() -> int:
    """Return how many tokens of a passage an embedder is trained on unless a recipe says so."""
    return make_recipe({"kind": "embedder", "base": "-", "data": "-"}).max_tokens


def _check(
    count: int, hows: Sequence[str], left_out: Mapping[str, int], allow_dropped: bool, ask: int
) -> None:
    """Raise UsageError for faults or too few rows, with what to do unless passages are listed."""
    check_faults(count, left_out, FAULTS, allow_dropped=allow_dropped)
    if count < FEWEST:
        rules = f"add the rules with --how {beside_labelled()}, " if set(hows) == ALONE else ""
        remedy = (
            f": {rules}ingest more documents, let people rate answers, or list passages with"
            " --ask 50, write questions about them and pass that file as --set"
        )
        raise UsageError(
            f"only {count} rows could be made by {', '.join(hows)}: a model needs {FEWEST} at least"
            f"{'' if ask else remedy}"
        )


def _mine_some(questions: Sequence[Question], miner: Miner, count: int) -> list[Row]:
    """Make rows without a split, of which so many know how near other passages are."""
    rows = [Row(question, place, "train") for question in questions for place in question.places]
    return [
        replace(row, rivals=miner.mine(row.question, row.place, lambda hit: True))
        if n < count
        else row
        for n, row in enumerate(rows)
    ]


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
