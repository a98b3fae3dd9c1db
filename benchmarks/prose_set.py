"""Sentences about passages, true and false, in English and Chinese, for checking prose.

*written*: sentences that a language model wrote about the everyday documents, true ones in other
words than the document's, and each again with its meaning changed; labelled when they were
written. *made*: CLAPNQ's human answers and CMRC 2018's questions with their answers put in, as they
are, reworded by rule, and made false by rule. Whatever is about one document is in one half.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from benchmarks import prose_chinese, prose_english
from benchmarks.data import ROOT, data
from benchmarks.everyday_set import FOLDER, LANGUAGES, half_of
from benchmarks.prose_rules import FALSE, Rules, Topic

WRITTEN, MADE, QAGS = "written", "made", "QAGS"
TRUE_KINDS: Final = ("as it was", "reworded", "joined")
_RULES: Final[dict[str, Rules]] = {"en": prose_english.RULES, "zh": prose_chinese.RULES}


@dataclass(frozen=True, slots=True)
class Claimed:
    """A sentence, the passage that it is checked against, and whether it is true of it.

    `kind` is one of TRUE_KINDS or of FALSE; what a set does not tell apart is "true" or "false".
    """

    origin: str
    language: str
    document: str
    passage: str
    text: str
    kind: str
    is_true: bool

    @property
    def half(self) -> int:
        """0 for the half that weights were fitted on, 1 for the half that is reported."""
        return half_of(self.document)


@lru_cache
def claims(language: str) -> tuple[Claimed, ...]:
    """Return all sentences of a language, without repetitions, always the same."""
    return tuple(dict.fromkeys((*_written(language), *_made(language))))


@lru_cache
def summaries() -> tuple[Claimed, ...]:
    """Return the sentences of QAGS, written by summarisers and labelled by three people each.

    Wang et al. 2020, https://github.com/W4ngatang/qags, as checking/mturk_*.jsonl in the folder of
    the test data; none where the files are not there.
    """
    listed = []
    for file in sorted((data() / "checking").glob("mturk_*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for sentence in row["summary_sentences"]:
                yes = [answer["response"] == "yes" for answer in sentence["responses"]]
                label = sum(yes) * 2 > len(yes)
                kind = f"{file.stem.removeprefix('mturk_')}, {'true' if label else 'false'}"
                text, article = sentence["sentence"], row["article"]
                listed.append(Claimed(QAGS, "en", article[:200], article, text, kind, label))
    return tuple(listed)


def _written(language: str) -> Iterator[Claimed]:
    for line in (FOLDER / f"claims.{language}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        name = row["document"]
        passage = _document(language, name).read_text(encoding="utf-8")
        yield Claimed(WRITTEN, language, name, passage, row["true"], "reworded", True)
        for kind, text in row["false"].items():
            yield Claimed(WRITTEN, language, name, passage, text, kind, False)


def _document(language: str, name: str) -> Path:
    """Find a document: one of the everyday ones, or of the example handbook."""
    folder, _, file = name.rpartition("/")
    if folder:
        return ROOT / "examples/handbook" / language / file
    return FOLDER / "documents" / language / file


def _made(language: str) -> Iterator[Claimed]:
    rules = _RULES[language]
    topics = rules.topics(data())
    for place, topic in enumerate(topics):
        chance = random.Random(f"{language} {topic.name} {place}")
        others = [topics[(place + step) % len(topics)] for step in (7, 11, 13)]
        for text, kind, is_true in _sentences(rules, topic, others, chance):
            yield Claimed(MADE, language, topic.name, topic.passage, text, kind, is_true)


def _sentences(
    rules: Rules, topic: Topic, others: list[Topic], chance: random.Random
) -> Iterator[tuple[str, str, bool]]:
    """Yield what one passage gives: texts, kinds, and whether they are true."""
    for text in topic.statements:
        reworded = rules.reword(text, chance)
        yield text, "as it was", True
        if reworded != text:
            yield reworded, "reworded", True
        for kind in FALSE:
            base = chance.choice((text, reworded))
            changed = rules.falsify(kind, base, topic, others, chance)
            if changed and changed != base:
                yield changed, kind, False
    for text in topic.sentences:
        reworded = rules.reword(rules.shorten(text, chance), chance)
        if reworded != text:
            yield reworded, "reworded", True
    for first, second in zip(topic.statements, topic.statements[1:], strict=False):
        yield rules.reword(rules.join(first, second), chance), "joined", True


__all__ = ["LANGUAGES", "MADE", "QAGS", "TRUE_KINDS", "WRITTEN", "Claimed", "claims", "summaries"]
