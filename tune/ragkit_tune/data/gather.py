"""Gather questions: labelled ones, rated ones, and those that rules or a model make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.errors import UsageError
from ragkit_tune.data.clusters import Clusters
from ragkit_tune.data.feedback import rated_questions
from ragkit_tune.data.labelled import Label, resolve
from ragkit_tune.data.negatives import Miner
from ragkit_tune.data.questions import HOWS, Question, drawn
from ragkit_tune.data.rules import KINDS, how_made, make_labels
from ragkit_tune.data.sources import Sources

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings

DEFAULT_HOWS: Final = ("headings", "tables", "numbers", "definitions", "cloze", "feedback")
ASKED: Final = 500  # questions for a language model to write, without --rows; arbitrary

Progress = Callable[[str, int, int], None]  # a stage, the number that is done, and of how many


class Gathering:
    """Collects the questions of one data folder, and counts why others are left out.

    `written_by` names the language model that wrote some of them, "" for none.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        settings: Settings,
        sources: Sources,
        miner: Miner,
        progress: Progress,
    ) -> None:
        self.questions: list[Question] = []
        self.left_out: Counter[str] = Counter()
        self.written_by = ""
        self._kb = kb
        self._settings = settings
        self._sources = sources
        self._miner = miner
        self._progress = progress

    def label(
        self, labels: Sequence[Label], how: Callable[[Label], str] = lambda label: "labelled"
    ) -> None:
        """Add the questions of a labelled set."""
        if labels:
            self._progress("finding labelled passages", 0, 0)
            self.questions += resolve(
                labels, self._sources, self._miner.best_passage, self.left_out, how=how
            )

    def make(self, hows: Sequence[str], *, rows: int, language: str, seed: int) -> None:
        """Add users' rated questions, and those that rules and a model make, as `hows` say."""
        if "feedback" in hows:
            self.questions += rated_questions(
                self._kb, self._settings, self._sources, self.left_out
            )
        for group in _groups(hows):
            by_model = "asked" in group
            self._progress("letting the model ask" if by_model else "asking by rules", 0, 0)
            labels, model = make_labels(
                self._kb.collection,
                group,
                count=(rows or ASKED) if by_model else 0,
                language=language,
                seed=seed,
            )
            self.written_by = self.written_by or model
            self.label(labels, how_made)


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
    by_rules = [how for how in hows if how in KINDS.values() and how != "asked"]
    return [group for group in (by_rules, ["asked"] if "asked" in hows else []) if group]


def limit_rows(
    questions: Sequence[Question], clusters: Clusters, rows: int, seed: int
) -> list[Question]:
    """Draw questions of up to so many rows, from each document in turn, gaps to fill last."""
    turns: Counter[str] = Counter()
    ordered = []

    def order(question: Question) -> tuple[bool, str, str]:
        is_gap = question.how == "cloze"
        return is_gap, drawn(seed, question.text), question.places[0].passage.text

    for question in sorted(questions, key=order):
        uri = question.places[0].passage.uri
        ordered.append((turns[uri], drawn(seed, clusters.of[uri]), question))
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
