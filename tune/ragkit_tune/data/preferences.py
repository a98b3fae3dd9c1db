"""Make rows of preferences: a prompt as `ask` renders it, and which answers to it are better.

Users say so by thumbs up and down; and ragkit's check does, of several answers that a model gives:
one that the passages support entirely is better than one that they do not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ragkit.answer.write.llm import refusal_in
from ragkit.text.analyse import analyse
from ragkit_tune.data.answered import rated_answers, renumbered
from ragkit_tune.data.chat import DISTRACTORS, Origins, Row, Work, write
from ragkit_tune.data.checks import FEWEST
from ragkit_tune.data.collected import (
    NO_OTHERS,
    NO_ROOM,
    Collected,
    Progress,
    check_counts,
)
from ragkit_tune.data.data_set import DataSet, Split, check_new_folder
from ragkit_tune.data.prompts import message_rows, numbered, right_refusal
from ragkit_tune.data.questions import Question, digest, folded

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.prompts.messages import Prompt
    from ragkit.settings.settings import Settings

SAMPLES: Final = 4  # answers of a model to a question; arbitrary
PAIRS_OF_QUESTION: Final = 4  # of liked and disliked answers; arbitrary
EQUAL: Final = "no answer is better than another"
ONE_SIDED: Final = "its answers are all liked or all disliked"

Kind = Literal["preference", "completion"]


def make_preference_rows(
    kb: KnowledgeBase,
    out: Path,
    *,
    settings: Settings,
    kind: Kind = "preference",
    origins: Origins | None = None,
    samples: int = SAMPLES,
    language: str = "",
    seed: int = 0,
    distractors: int = DISTRACTORS,
    fewest: int = FEWEST,
    allow_dropped: bool = False,
    progress: Progress = lambda stage, done, total: None,
) -> DataSet:
    """Make rows of pairs for DPO and reward models, or of single rated answers for KTO.

    Answers come from users' thumbs, and from the sampler of `origins`, which answers every question
    `samples` times. Raises UsageError as `make_chat_rows` does.
    """
    check_new_folder(out)
    origins = origins or Origins()
    work = Work.open(kb, settings, distractors=distractors, seed=seed, progress=progress)
    collected, rated = _collect(work, origins, language)
    judge = _Judge(work, collected, rated, origins, samples, kind)
    rows: dict[Split, list[Row]] = {"train": [], "dev": []}
    chosen = _by_question(collected.of("train", "dev"))
    for n, (item, split) in enumerate(chosen):
        rows[split] += judge.rows(item, split)
        progress("comparing answers", n + 1, len(chosen))
    count = sum(map(len, rows.values()))
    check_counts(count, collected.left_out, fewest=fewest, allow_dropped=allow_dropped)
    facts = {
        "collection": kb.collection,
        "language": language,
        "seed": seed,
        "written_by": origins.written_by if origins.sampler else "",
        "prompts": sorted(judge.versions),
        "refusals": judge.refused,
    }
    return write(out, kind, rows, collected, facts)


Rated = dict[frozenset[str], dict[str, list[Question]]]


def _collect(work: Work, origins: Origins, language: str) -> tuple[Collected, Rated]:
    """Collect the questions of users and of sets; users' answers by the question's terms."""
    left_out: Counter[str] = Counter()
    rated: Rated = defaultdict(lambda: {"up": [], "down": []})
    items = []
    for rating in ("up", "down") if origins.feedback else ():
        for item in rated_answers(work.kb, work.settings, work.sources, rating, left_out):
            rated[shared_terms(item.text)][rating].append(item)
            # A disliked refusal does not say that the documents answer the question, nor where.
            if item.places or rating == "up":
                items.append(item)
    if origins.sampler:
        items += work.gather(replace(origins, feedback=False), left_out)
    return work.collect(items, left_out, language), rated


def shared_terms(question: str) -> frozenset[str]:
    """Return what equal questions share: their terms, in any order.

    >>> shared_terms("Leave, a new employee?") == shared_terms("a new employee: leave")
    True
    """
    return frozenset(analyse(question)) or frozenset({folded(question)})


def _by_question(
    items: Iterable[tuple[Question, Split]],
) -> list[tuple[Question, Split]]:
    """Return one of the questions that are the same, an answerable one where there is any."""
    chosen: dict[frozenset[str], tuple[Question, Split]] = {}
    for item, split in items:
        present = chosen.get(shared_terms(item.text))
        if present is None or (item.places and not present[0].places):
            chosen[shared_terms(item.text)] = (item, split)
    return list(chosen.values())


class _Judge:
    """Compares the answers to a question."""

    def __init__(
        self,
        work: Work,
        collected: Collected,
        rated: Rated,
        origins: Origins,
        samples: int,
        kind: Kind,
    ) -> None:
        self._prompter = work.prompter
        self._collected = collected
        self._rated = rated
        self._sampler = origins.sampler
        self._samples = samples
        self._kind = kind
        self.versions: set[str] = set()
        self.refused = 0

    def rows(self, item: Question, split: Split) -> list[Row]:
        """Return the rows of a question."""
        is_allowed = self._collected.is_allowed(split)
        distractors = self._prompter.distractors(item, is_allowed)
        if item.places:
            distractors = self._prompter.filled(item, distractors, is_allowed)
        prompt = self._prompter.prompt(item, distractors)
        if prompt is None:
            self._collected.left_out[NO_ROOM if item.places else NO_OTHERS] += 1
            return []
        good, bad = self._of_users(item, prompt)
        if self._sampler:
            supported, unsupported = self._of_model(item, prompt)
            good, bad = [*good, *supported], [*bad, *unsupported]
        good = list(dict.fromkeys(good))
        bad = [answer for answer in dict.fromkeys(bad) if answer not in good]
        self.versions.add(prompt.version)
        self.refused += not item.places
        written = list(
            self._pairs(item, prompt, good, bad)
            if self._kind == "preference"
            else self._singles(item, prompt, good, bad)
        )
        if not written:
            self._collected.left_out[EQUAL if self._sampler else ONE_SIDED] += 1
        return written

    def _of_users(self, item: Question, prompt: Prompt) -> tuple[list[str], list[str]]:
        """Return the answers that users liked and disliked, with the prompt's numbers.

        A disliked answer may cite what does not stand there; it loses that marker.
        """
        rated = self._rated.get(shared_terms(item.text), {"up": [], "down": []})
        good = [numbered(item.answer, item.places, prompt) for item in rated["up"]]
        bad = [
            numbered(item.answer, item.places, prompt) or renumbered(item.answer, {})
            for item in rated["down"]
        ]
        return [answer for answer in good if answer], [answer for answer in bad if answer]

    def _of_model(self, item: Question, prompt: Prompt) -> tuple[list[str], list[str]]:
        """Return a model's answers that ragkit's check supports, and those that it does not."""
        assert self._sampler is not None
        good: list[str] = []
        bad: list[str] = []
        for answer in self._sampler(prompt.messages, self._samples):
            checked = self._prompter.check(answer, prompt)
            is_right = checked.is_supported if item.places else checked.is_refusal
            (good if is_right else bad).append(answer)
        reference = numbered(item.answer, item.places, prompt) if item.answer else None
        if not item.places:
            good = good or [right_refusal(item.text)]
        elif not good and reference and self._prompter.check(reference, prompt).is_supported:
            good = [reference]
        return good, bad

    def _pairs(
        self, item: Question, prompt: Prompt, good: list[str], bad: list[str]
    ) -> Iterator[Row]:
        # Of two answers that refuse in other words none is better.
        pairs = [
            (chosen, rejected)
            for chosen, rejected in product(good, bad)
            if not (refusal_in(chosen) and refusal_in(rejected))
        ]
        for chosen, rejected in pairs[:PAIRS_OF_QUESTION]:
            yield self._row(item, prompt, chosen, rejected) | {
                "chosen": chosen,
                "rejected": rejected,
            }

    def _singles(
        self, item: Question, prompt: Prompt, good: list[str], bad: list[str]
    ) -> Iterator[Row]:
        for answer, label in [*((text, True) for text in good), *((text, False) for text in bad)]:
            yield self._row(item, prompt, answer) | {"completion": answer, "label": label}

    def _row(self, item: Question, prompt: Prompt, *answers: str) -> dict[str, Any]:
        return {
            "id": digest(item.text, *answers)[:12],
            "prompt": message_rows(prompt.messages),
            "version": prompt.version,
            "language": prompt.language,
            "group": self._collected.group(item),
        }
