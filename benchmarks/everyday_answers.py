"""Everyday questions asked of a mixed collection: what is refused, and what the answers hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.everyday_set import NAMES, Asked, contained, mixed_collection, questions
from benchmarks.refusal import read_signals
from ragkit import KnowledgeBase
from ragkit.answer.refuse.cutoff import QUOTED_FROM
from ragkit_eval.stats import mean_interval

HALVES = ((0, "chosen on"), (1, "reported"))
KINDS = ("copied", "reworded", "short", "everyday")
CURVE = (0.04, 0.08, QUOTED_FROM, 0.18, 0.25, 0.35)
HEAD = """## Everyday questions

Asked of one collection of about two hundred documents in both languages: eight small ones of
everyday life in each, the example handbook, the files of many formats, and sixty passages each of
CLAPNQ and CMRC 2018. The questions were written by readers of the documents who did not know the
code. *Answerable* ones copy, reword, shorten or chat; *near* misses ask about something that a
document speaks of for what stands nowhere; *foreign* ones are about nothing in the collection.
*Contained*: the answer, of at most two sentences, a list or a row, holds what the label says, with
refusals counted as misses. *Chinese about English*: asked in Chinese about documents in English;
its label knows these documents alone, though others of the collection may answer as well. The
constants were chosen on one half of the questions, by document; the tables show both. In brackets
95% intervals, resampled by document.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a question; `probability` is that of an answer, before one is chosen."""

    asked: Asked
    refused: bool
    contained: bool
    quotations: int
    probability: float


def run() -> str:
    with mixed_collection() as kb:
        outcomes = [outcome(kb, asked) for language in NAMES for asked in questions(language)]
    reported = [o for o in outcomes if o.asked.half == 1]
    lines = [
        HEAD,
        "| language | half | answerable | refused | contained | quotations | near misses | refused"
        " | foreign | refused |",
        "|" + "---|" * 10,
        *(
            row(language, name, [o for o in outcomes if o.asked.half == half])
            for language in NAMES
            for half, name in HALVES
        ),
        "",
        "On the reported half, by the least probability from which sentences are quoted (the"
        f" default is {QUOTED_FROM:g}):\n",
        "| language | least probability | answerable refused | near misses refused"
        " | foreign refused |",
        "|" + "---|" * 5,
        *(_point(language, least, reported) for language in NAMES for least in CURVE),
        "",
        "By the kind of question, on the reported half:\n",
        "| language | kind | questions | refused | contained |",
        "|" + "---|" * 5,
        *(_kind(language, kind, reported) for language in NAMES for kind in KINDS),
    ]
    return "\n".join(lines) + "\n"


def outcome(kb: KnowledgeBase, asked: Asked) -> Outcome:
    """Ask one question."""
    answer = kb.ask(asked.question)
    found = read_signals(kb, asked.question, answer.hits)
    probability = found.probability if answer.hits else 0.0
    right = not answer.refused and contained(asked, answer)
    return Outcome(asked, answer.refused, right, len(answer.citations), probability)


def row(
    language: str,
    half: str,
    outcomes: Sequence[Outcome],
    unanswerable_kinds: Sequence[str] = ("near", "foreign"),
) -> str:
    """Write what is refused and contained of a language's outcomes."""
    answerable = _of(outcomes, language, *KINDS)
    quoted = fmean(o.quotations for o in answerable if not o.refused)
    cells = [
        NAMES[language],
        half,
        str(len(answerable)),
        _share((o.refused, o) for o in answerable),
        _share((o.contained, o) for o in answerable),
        f"{quoted:.2f}",
    ]
    for kind in unanswerable_kinds:
        unanswerable = _of(outcomes, language, kind)
        cells += [str(len(unanswerable)), _share((o.refused, o) for o in unanswerable)]
    print(cells, flush=True)
    return f"| {' | '.join(cells)} |"


def _point(language: str, least: float, outcomes: Sequence[Outcome]) -> str:
    """Write what a least probability refuses; passages that the gate refuses have a lower one."""
    shares = [
        fmean(o.probability < least for o in _of(outcomes, language, *kinds))
        for kinds in (KINDS, ("near",), ("foreign",))
    ]
    refused = " | ".join(f"{share:.1%}" for share in shares)
    return f"| {NAMES[language]} | {least:g} | {refused} |"


def _kind(language: str, kind: str, outcomes: Sequence[Outcome]) -> str:
    some = _of(outcomes, language, kind)
    refused, right = fmean(o.refused for o in some), fmean(o.contained for o in some)
    return f"| {NAMES[language]} | {kind} | {len(some)} | {refused:.1%} | {right:.1%} |"


def _of(outcomes: Sequence[Outcome], language: str, *kinds: str) -> list[Outcome]:
    return [o for o in outcomes if o.asked.language == language and o.asked.kind in kinds]


def _share(values: Iterable[tuple[bool, Outcome]]) -> str:
    pairs = list(values)
    groups = [o.asked.document or o.asked.id for _, o in pairs]
    interval = mean_interval([float(value) for value, _ in pairs], groups)
    return f"{interval.mean:.1%} ({interval.low:.1%} to {interval.high:.1%})"
