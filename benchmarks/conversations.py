"""Conversations: is the last question searched for as it should be, and answered rightly?

The conversations and their documents were written for this, apart from the code. It knows nothing
of how a follow-up is told from a question that stands alone.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.data import ROOT, clapnq_answerable, clapnq_unanswerable, cmrc, knowledge_base
from benchmarks.homes import home, once
from ragkit import Answer, KnowledgeBase, Settings
from ragkit.conversation import Conversation
from ragkit.conversation.follow_up import stream
from ragkit.prompts.templates import Templates
from ragkit.types import Turn
from ragkit_eval.sets import LabelledSet
from ragkit_ingest import ingest

EVERYDAY = ROOT / "benchmarks" / "everyday"
HANDBOOK = ROOT / "examples" / "handbook"
LANGUAGES = {"en": "English", "zh": "Chinese"}
TYPES = {"complete": "complete question", "follow-up": "follow-up", "change": "change of topic"}
SAMPLED = 60  # passages of a published set beside the documents, some of which are asked about
UNRELATED = 300  # questions of a published set, each asked after the one before it


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation: what its last question is, and strings of which its answer holds one."""

    id: str
    turns: tuple[str, ...]
    type: str
    answers: tuple[str, ...]

    @property
    def is_odd(self) -> bool:
        """Whether the rules were chosen on it; the others are only reported."""
        return int(self.id.rpartition("-")[2]) % 2 == 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a talk's last question was searched for as, and what came of it."""

    talk: Talk
    query: str
    answer: str
    refused: bool

    @property
    def searched_rightly(self) -> bool:
        """Whether the conversation was added for a follow-up, and only for one."""
        return (self.query != self.talk.turns[-1]) == (self.talk.type == "follow-up")

    @property
    def treated_rightly(self) -> bool:
        """Whether it was searched for rightly, too, and the answer holds what it should."""
        text = _joined(self.answer)
        held = any(_joined(gold) in text for gold in self.talk.answers)
        return self.searched_rightly and held and not self.refused


def run() -> str:
    lines = [
        "## Conversations\n",
        "Without a language model. *Searched rightly*: the last question was searched for as it"
        " stands or, if it is a follow-up, with words of the conversation. *Treated rightly*: the"
        " quoted answer holds what it should, besides. The rules were chosen on the conversations"
        " with odd numbers; these are the even ones, a first look at which changed one rule"
        " (decision 35).\n",
        "| language | last question | conversations | searched rightly | treated rightly |",
        "|---|---|---|---|---|",
    ]
    reported: list[Outcome] = []
    for language, name in LANGUAGES.items():
        outcomes = [one for one in held(language) if not one.talk.is_odd]
        reported += outcomes
        for kind, last in TYPES.items():
            lines.append(_row(name, last, [one for one in outcomes if one.talk.type == kind]))
    lines += [
        _row("both", "all", reported),
        "",
        "Questions of published sets, which all stand alone, each asked after the one before it in"
        " its set. *Otherwise*: not answered or refused as it is when it is asked first.\n",
        "| set | questions | searched for with the one before | answered otherwise |",
        "|---|---|---|---|",
    ]
    with knowledge_base(clapnq_answerable(), clapnq_unanswerable()) as kb:
        lines.append(_unrelated("CLAPNQ answerable", kb, clapnq_answerable()))
        lines.append(_unrelated("CLAPNQ unanswerable", kb, clapnq_unanswerable()))
    with knowledge_base(cmrc()) as kb:
        lines.append(_unrelated("CMRC 2018", kb, cmrc()))
    return "\n".join(lines) + "\n"


def held(language: str) -> list[Outcome]:
    """Hold the conversations in a language, each as a new one, and return what they came to."""
    with _settings(language) as settings, Conversation.open(settings) as opened:
        return [_held(opened.another(), talk) for talk in talks(language)]


def talks(language: str) -> tuple[Talk, ...]:
    """Read the conversations in a language."""
    lines = (EVERYDAY / f"talks.{language}.jsonl").read_text(encoding="utf-8").splitlines()
    told = map(json.loads, lines)
    return tuple(
        Talk(one["id"], tuple(one["turns"]), one["type"], tuple(one["answers"])) for one in told
    )


def _held(conversation: Conversation, talk: Talk) -> Outcome:
    for question in talk.turns:
        answer = conversation.ask(question)
    last = conversation.last
    assert last is not None, "the last question was answered"
    return Outcome(talk, last.query, answer.text, answer.refused)


@contextmanager
def _settings(language: str) -> Iterator[Settings]:
    """Fill a database: a language's documents, the handbook, passages of a published set."""
    with home(f"conversations-{language}") as folder:
        settings = Settings(home=folder / "home")
        once(folder, "ingested", lambda: _ingested(language, folder / "others", settings))
        yield settings


def _ingested(language: str, others: Path, settings: Settings) -> dict[str, int]:
    others.mkdir()
    for name, text in _passages(language).items():
        (others / f"{name}.txt").write_text(text, encoding="utf-8")
    report = ingest([EVERYDAY / "documents" / language, HANDBOOK, others], settings=settings)
    assert not report.failures, report.failures
    return {"documents": report.added}


def _passages(language: str) -> dict[str, str]:
    """Choose the passages of a published set, some of which the conversations ask about."""
    if language == "zh":
        return dict(list(cmrc().documents.items())[::14][:SAMPLED])
    labelled = clapnq_answerable()
    names = [min(question.relevant) for question in labelled.questions[::5]][:SAMPLED]
    return {name: labelled.documents[name] for name in names}


def _row(language: str, last: str, outcomes: Sequence[Outcome]) -> str:
    searched = sum(one.searched_rightly for one in outcomes) / len(outcomes)
    treated = sum(one.treated_rightly for one in outcomes) / len(outcomes)
    row = f"| {language} | {last} | {len(outcomes)} | {searched:.0%} | {treated:.0%} |"
    print(row, flush=True)
    return row


def _unrelated(name: str, kb: KnowledgeBase, labelled: LabelledSet) -> str:
    questions = [question.text for question in labelled.questions[: UNRELATED + 1]]
    added = otherwise = 0
    for before, question in pairwise(questions):
        first = kb.ask(question)
        later, query = _after(kb, before, question)
        added += query != question
        otherwise += (first.text, first.refused) != (later.text, later.refused)
    row = f"| {name} | {len(questions) - 1} | {added} | {otherwise} |"
    print(row, flush=True)
    return row


def _after(kb: KnowledgeBase, before: str, question: str) -> tuple[Answer, str]:
    """Ask a question after another; return its answer, and what was searched for."""
    queries: list[str] = []
    turns = [Turn(before, "")]
    pieces = stream(
        kb, question, turns, model=None, templates=Templates(), history_tokens=0,
        on_query=queries.append,
    )  # fmt: skip
    *_, answer = pieces
    assert isinstance(answer, Answer), "a stream ends with an Answer"
    return answer, queries[-1]


def _joined(text: str) -> str:
    """Leave white space out, which answers and documents set otherwise."""
    return "".join(text.split())
