"""Checking prose: how many true sentences pass, and how many false ones are caught, by kind.

Each is checked as an answer of one sentence that cites its passage: by words alone, and with each
embedding model whose weights are known and that is on this machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from benchmarks import wordnet
from benchmarks.everyday_set import NAMES
from benchmarks.prose_detectors import detectors
from benchmarks.prose_set import LANGUAGES, MADE, QAGS, WRITTEN, Claimed, claims, summaries
from ragkit.answer.check.claim_signals import BY_MODEL
from ragkit.answer.check.names import find_names
from ragkit.answer.check.numbers import find_numbers
from ragkit.answer.check.support import Evidence, count_misplaced, coverage, judge_by_words
from ragkit.answer.check.verify import Verified, verify
from ragkit.answer.write.citations import cite
from ragkit.contracts import Embedder
from ragkit.embed.local import LocalEmbedder
from ragkit.errors import ModelError
from ragkit.settings.settings import load_settings
from ragkit.types import Draft, Hit
from ragkit_eval.stats import mean_interval

SETS: Final = tuple((origin, language) for origin in (WRITTEN, MADE) for language in LANGUAGES)
BEFORE: Final = "words before"
WORDS: Final = "words"
FALLBACK: Final = "all-MiniLM-L6-v2"  # is installed with ragkit
_TIMED: Final = 30  # answers
_LONG: Final = (1, 4, 8)  # sentences of an answer
HEAD = """## Checking prose

Sentences about a passage, true and false, each checked as an answer that cites the passage;
*passed* means that the verdict is `supported`. *Written*: a language model wrote them about the
everyday documents and the example handbook, the true ones in other words, and each twice with its
meaning changed. *Made*: CLAPNQ's human answers and CMRC 2018's questions with their answers put
in, as they are, reworded, joined, and made false by rule. The weights were fitted on one half, by
document; the tables show the other (of the made ones every second). QAGS: summaries whose
sentences three people each labelled, on which nothing was fitted. In brackets 95% intervals,
resampled by document. *{before}* is the check before: three quarters of the words, and
every number and name.
"""

Verdicts = Sequence[bool]


@dataclass(frozen=True, slots=True)
class Judged:
    """Sentences, and by the name of each check whether it passed them."""

    sentences: Sequence[Claimed]
    passed: Mapping[str, Verdicts]

    def of(self, check: str, kinds: Iterable[str] | None, *, true: bool) -> list[tuple[bool, str]]:
        """List (passed, document) of the true or false sentences, of some kinds or of all."""
        wanted = None if kinds is None else set(kinds)
        return [
            (passed, sentence.document)
            for sentence, passed in zip(self.sentences, self.passed[check], strict=True)
            if sentence.is_true == true and (wanted is None or sentence.kind in wanted)
        ]


def run() -> str:
    checks = embedders()
    lines = [HEAD.format(before=BEFORE.capitalize())]
    if not wordnet.is_here():
        lines.append("WordNet is not installed: the English sentences keep their words.\n")
    lines += _header()
    judged = {
        (origin, language): judge_all(_reported(origin, language), checks)
        for origin, language in SETS
    }
    for (origin, language), result in judged.items():
        name = f"{origin}, {NAMES[language]}"
        lines += [_row(name, check, result) for check in result.passed]
    lines += _summaries(checks)
    lines += _kinds(judged)
    lines += _times(checks)
    return "\n".join((*lines, "", *detectors())) + "\n"


def _reported(origin: str, language: str) -> list[Claimed]:
    """Return what is reported of a set: all that was written, every second one that was made."""
    sentences = [c for c in claims(language) if c.origin == origin and c.half == 1]
    return sentences if origin == WRITTEN else sentences[::2]


def embedders() -> dict[str, Embedder]:
    """Return the models whose weights are known and that are here; the settings' one first."""
    there: dict[str, Embedder] = {}
    for name in dict.fromkeys((load_settings().embed_model, FALLBACK)):
        embedder = LocalEmbedder(name)
        try:
            embedder.load()
        except ModelError as error:
            print(f"without {name}: {error}", flush=True)
            continue
        there.setdefault(embedder.space.model.rpartition("/")[2], embedder)
    return {name: embedder for name, embedder in there.items() if name in BY_MODEL}


def judge_all(sentences: Sequence[Claimed], checks: Mapping[str, Embedder]) -> Judged:
    """Check sentences before and now, by words and with each model."""
    passed: dict[str, Verdicts] = {BEFORE: [passed_before(c) for c in sentences]}
    passed[WORDS] = [passes(c, None) for c in sentences]
    for name, embedder in checks.items():
        passed[name] = [passes(c, embedder) for c in sentences]
    return Judged(sentences, passed)


def passes(sentence: Claimed, embedder: Embedder | None) -> bool:
    """Tell whether a sentence passes the check of an answer."""
    return all(claim.is_supported for claim in verified([sentence], embedder).claims)


def verified(sentences: Sequence[Claimed], embedder: Embedder | None) -> Verified:
    """Check an answer of sentences about one passage, each of which cites it."""
    answer = "\n".join(f"{sentence.text.strip()} [1]" for sentence in sentences)
    text = sentences[0].passage
    hit = Hit(1, 1, "passage", "", None, 0, len(text), text, 1.0)
    draft = Draft(answer, cite(answer, [hit]), used=(hit,))
    return verify(draft, {1: text}.__getitem__, [hit], embedder=embedder)


def passed_before(sentence: Claimed) -> bool:
    """Tell whether a sentence passed the check by words that came before."""
    text, source = sentence.text, Evidence([sentence.passage])
    missing = sum(number not in source.numbers for number in find_numbers(text))
    missing += sum(text[name.start : name.end] not in source.names for name in find_names(text))
    missing += count_misplaced(text, [source])
    return judge_by_words(coverage(text, [source]), missing) == "supported"


def _header() -> list[str]:
    return [
        "| set | check | true | passed | false | caught | balanced accuracy |",
        "|" + "---|" * 7,
    ]


def _row(name: str, check: str, judged: Judged) -> str:
    true = judged.of(check, None, true=True)
    false = [(not passed, document) for passed, document in judged.of(check, None, true=False)]
    balanced = (fmean(v for v, _ in true) + fmean(v for v, _ in false)) / 2
    cells = [name, check, str(len(true)), _share(true), str(len(false)), _share(false)]
    print(cells, flush=True)
    return f"| {' | '.join(cells)} | {balanced:.3f} |"


def _share(values: Sequence[tuple[bool, str]]) -> str:
    interval = mean_interval([float(v) for v, _ in values], [group for _, group in values])
    return f"{interval.mean:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def _summaries(checks: Mapping[str, Embedder]) -> list[str]:
    """Measure on summaries that people labelled, nothing of which was fitted on."""
    sentences = summaries()
    if not sentences:
        return ["", "QAGS, summaries that people labelled, is not on this machine: not measured."]
    judged = judge_all(sentences, checks)
    return [_row(QAGS, check, judged) for check in judged.passed]


def _kinds(judged: Mapping[tuple[str, str], Judged]) -> Iterator[str]:
    checks = list(dict.fromkeys(check for result in judged.values() for check in result.passed))
    yield "\nThe share that passed, by kind; of false sentences, less is better:\n"
    yield f"| set | kind | sentences | {' | '.join(checks)} |"
    yield "|" + "---|" * (3 + len(checks))
    for (origin, language), result in judged.items():
        for false, kind in sorted({(not c.is_true, c.kind) for c in result.sentences}):
            some = [result.of(check, [kind], true=not false) for check in checks]
            shares = " | ".join(f"{fmean(v for v, _ in each):.1%}" for each in some)
            title = f"{'false: ' if false else 'true: '}{kind}"
            yield f"| {origin}, {NAMES[language]} | {title} | {len(some[0])} | {shares} |"


def _times(checks: Mapping[str, Embedder]) -> Iterator[str]:
    yield (
        "\nProcessor time for a sentence, in milliseconds, by how many sentences an answer has that"
        " cites one passage; the model has one thread:\n"
    )
    yield f"| check | {' | '.join(map(str, _LONG))} |"
    yield "|" + "---|" * (1 + len(_LONG))
    about: dict[str, list[Claimed]] = {}
    for sentence in (c for language in LANGUAGES for c in claims(language)):
        about.setdefault(sentence.passage, []).append(sentence)
    for name, embedder in ((WORDS, None), *checks.items()):
        times = []
        for count in _LONG:
            answers = [some[:count] for some in about.values() if len(some) >= count][::17]
            started = time.process_time()
            for sentences in answers[:_TIMED]:
                verified(sentences, embedder)
            seconds = time.process_time() - started
            times.append(f"{1000 * seconds / (count * len(answers[:_TIMED])):.1f}")
        yield f"| {name} | {' | '.join(times)} |"
