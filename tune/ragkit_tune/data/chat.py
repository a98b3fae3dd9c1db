"""Make rows of chats: a prompt as `ask` renders it, and the answer that it should get.

Some prompts show only passages that do not answer; their answer is the sentence that refuses. After
RAFT (arXiv:2403.10131), which lets the model answer from memory there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit_tune.data.answered import (
    labelled_answers,
    paired_questions,
    rated_answers,
)
from ragkit_tune.data.checks import FEWEST
from ragkit_tune.data.clusters import cluster_documents
from ragkit_tune.data.collected import (
    NO_ANSWER,
    NO_OTHERS,
    NO_ROOM,
    UNSUPPORTED,
    Collected,
    Progress,
    check_counts,
    collect,
    describe_card,
    make_card,
    test_lines,
)
from ragkit_tune.data.data_set import (
    DataSet,
    Split,
    check_new_folder,
    write_data_set,
    write_whole,
)
from ragkit_tune.data.negatives import Miner
from ragkit_tune.data.prompts import (
    Prompter,
    Sampler,
    message_rows,
    numbered,
    right_refusal,
    source_rows,
)
from ragkit_tune.data.questions import Question, drawn_share
from ragkit_tune.data.sources import Sources

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.prompts.messages import Prompt
    from ragkit.settings.settings import Settings
    from ragkit.types import Hit

DISTRACTORS: Final = 3  # passages that do not answer, beside those that do; arbitrary
REFUSALS: Final = 0.2  # of the questions, asked again without their passages: 1 - RAFT's P

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Origins:
    """Where questions and answers come from. `sampler` writes missing answers."""

    labelled: Path | None = None
    pairs: Path | None = None
    feedback: bool = True
    sampler: Sampler | None = None
    written_by: str = ""


def make_chat_rows(
    kb: KnowledgeBase,
    out: Path,
    *,
    settings: Settings,
    origins: Origins | None = None,
    language: str = "",
    seed: int = 0,
    distractors: int = DISTRACTORS,
    refusals: float = REFUSALS,
    fewest: int = FEWEST,
    allow_dropped: bool = False,
    progress: Progress = lambda stage, done, total: None,
) -> DataSet:
    """Make rows to train a language model's answers with.

    Answers are users' favourites, those of a labelled set, and those that the sampler writes; one
    that ragkit's check does not support entirely is left out. Raises UsageError for fewer than
    `fewest` rows, and when over a tenth is left out by faults unless `allow_dropped`.
    """
    check_new_folder(out)
    origins = origins or Origins()
    work = Work.open(kb, settings, distractors=distractors, seed=seed, progress=progress)
    left_out: Counter[str] = Counter()
    collected = work.collect(work.gather(origins, left_out), left_out, language)
    writer = _Writer(work.prompter, collected, origins.sampler, refusals, seed)
    rows: dict[Split, list[Row]] = {"train": [], "dev": []}
    chosen = collected.of("train", "dev")
    for n, (item, split) in enumerate(chosen):
        rows[split] += writer.rows(item, split)
        progress("writing rows", n + 1, len(chosen))
    count = sum(map(len, rows.values()))
    check_counts(count, collected.left_out, fewest=fewest, allow_dropped=allow_dropped)
    facts = {
        "collection": kb.collection,
        "language": language,
        "seed": seed,
        "written_by": origins.written_by if writer.has_sampled else "",
        "prompts": sorted({row["prompt"] for part in rows.values() for row in part}),
        "refusals": writer.refused,
    }
    return write(out, "chat", rows, collected, facts)


@dataclass(frozen=True, slots=True)
class Work:
    """What rows of prompts are made with: a collection's documents, clusters and prompts."""

    kb: KnowledgeBase
    settings: Settings
    sources: Sources
    miner: Miner
    prompter: Prompter
    seed: int
    progress: Progress

    @classmethod
    def open(
        cls,
        kb: KnowledgeBase,
        settings: Settings,
        *,
        distractors: int,
        seed: int,
        progress: Progress,
    ) -> Work:
        """Open a collection. Raises UsageError for one without documents."""
        from ragkit.embed.current import current

        current(kb.embedder).load()
        sources = Sources(kb.store, kb.collection)
        miner = Miner(kb, count=distractors, seed=seed)
        prompter = Prompter(kb, sources, settings, miner, distractors=distractors, seed=seed)
        return cls(kb, settings, sources, miner, prompter, seed, progress)

    def gather(self, origins: Origins, left_out: Counter[str]) -> list[Question]:
        """Gather questions, counting in `left_out` why distractors cannot be used."""
        items: list[Question] = []
        if origins.labelled:
            items += labelled_answers(origins.labelled, self.sources, self.miner, left_out)
        if origins.feedback:
            items += rated_answers(self.kb, self.settings, self.sources, "up", left_out)
        if origins.pairs:
            items += paired_questions(origins.pairs, self.sources, left_out)
        return items

    def collect(
        self, items: Sequence[Question], left_out: Counter[str], language: str
    ) -> Collected:
        """Divide questions by the clusters of documents. Raises UsageError where that fails."""
        total = len(self.sources.documents)
        clusters = cluster_documents(
            self.sources, lambda n: self.progress("comparing documents", n, total)
        )
        return collect(items, clusters, left_out, language=language, seed=self.seed)


class _Writer:
    """Writes the rows of a question, and counts in the collected questions why there is none."""

    def __init__(
        self,
        prompter: Prompter,
        collected: Collected,
        sampler: Sampler | None,
        refusals: float,
        seed: int,
    ) -> None:
        self._prompter = prompter
        self._collected = collected
        self._sampler = sampler
        self._refusals = refusals
        self._seed = seed
        self.has_sampled = False
        self.refused = 0

    def rows(self, item: Question, split: Split) -> list[Row]:
        """Return the row of a question, and of some a second whose passages do not answer."""
        is_allowed = self._collected.is_allowed(split)
        distractors = self._prompter.distractors(item, is_allowed)
        if not item.places:
            return self._refusal(item, distractors)
        rows = []
        prompt = self._prompter.prompt(item, self._prompter.filled(item, distractors, is_allowed))
        if prompt is None:
            self._collected.left_out[NO_ROOM] += 1
        elif answer := self._answer(item, prompt):
            rows.append(self._row(item, prompt, answer))
        if drawn_share(self._seed, "refusal", item.text) < self._refusals:
            rows += self._refusal(item, distractors)
        return rows

    def _refusal(self, item: Question, distractors: Sequence[Hit]) -> list[Row]:
        prompt = self._prompter.prompt(item, distractors, gold=False)
        if prompt is None:
            if not item.places:
                self._collected.left_out[NO_OTHERS] += 1
            return []
        self.refused += 1
        changed = replace(item, answer=right_refusal(item.text))
        return [self._row(changed, prompt, changed.answer)]

    def _answer(self, item: Question, prompt: Prompt) -> str:
        """Return a supported answer with the prompt's numbers, "" without one."""
        answer = numbered(item.answer, item.places, prompt) if item.answer else ""
        if answer is None:
            self._collected.left_out[NO_ROOM] += 1
            return ""
        if not answer and self._sampler:
            self.has_sampled = True
            answer = next(iter(self._sampler(prompt.messages, 1)), "")
        if not answer:
            self._collected.left_out[NO_ANSWER] += 1
        elif not self._prompter.check(answer, prompt).is_supported:
            self._collected.left_out[UNSUPPORTED] += 1
            return ""
        return answer

    def _row(self, item: Question, prompt: Prompt, answer: str) -> Row:
        return {
            "id": item.id,
            "messages": [
                *message_rows(prompt.messages),
                {"role": "assistant", "content": answer},
            ],
            "sources": source_rows(prompt),
            "prompt": prompt.version,
            "language": prompt.language,
            "group": self._collected.group(item),
        }


def write(
    out: Path, kind: Any, rows: dict[Split, list[Row]], collected: Collected, facts: dict[str, Any]
) -> DataSet:
    """Write the rows, the questions to prove by, and the card."""
    files = {**rows, "test": test_lines(collected)}
    data = write_data_set(out, kind, files, make_card(collected, facts))
    write_whole(out / "card.md", describe_card(data.card))
    return data
