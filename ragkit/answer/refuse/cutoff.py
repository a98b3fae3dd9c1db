"""Signals of whether passages answer a question, and cut-offs on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragkit.answer.refuse.question_coverage import best_coverage
from ragkit.question.reading import Question, language_of
from ragkit.stats.cutoff import Cutoff
from ragkit.types import Hit


@dataclass(frozen=True, slots=True)
class Signals:
    """What speaks for an answer; None where a signal is missing.

    `cosine`: the best of all passages, None where the model does not read the question; `share`:
    how much of the question one passage covers, 0 to 1, None where the question has no content;
    `rerank`: the best score of a reranker; `words`: ln(1 + words of the question in the passage).

    `passage` and `sentence`: the best cosine of the passages and of the quoted sentences in the
    question's language, `other_passage` and `other_sentence` of those in the other one. `model`
    names the embedding model if its cosines are known.
    """

    cosine: float | None
    share: float | None
    rerank: float | None = None
    words: float = 0.0
    passage: float | None = None
    sentence: float | None = None
    other_passage: float | None = None
    other_sentence: float | None = None
    model: str = ""

    def of(self, names: Sequence[str]) -> list[float | None]:
        """List the signals of these names."""
        return [getattr(self, name) for name in names]

    @property
    def probability(self) -> float:
        """How probable an answer is where no cut-off is calibrated, 0 to 1.

        The more probable language counts: a low score of one is no evidence against the other.
        """
        fitted = BY_MODEL.get(self.model)
        if self.cosine is None or fitted is None:
            return BY_WORDS.score(self)
        quoted = self.sentence is not None or self.other_sentence is not None
        same_language, other_language = fitted.sentences if quoted else fitted.passages
        scores = [
            cutoff.score(self)
            for cutoff, cosine in (
                (same_language, self.sentence if quoted else self.passage),
                (other_language, self.other_sentence if quoted else self.other_passage),
            )
            if cutoff is not None and cosine is not None
        ]
        return max(scores) if scores else BY_WORDS.score(self)


def signals(
    question: Question,
    hits: Sequence[Hit],
    weights: Mapping[str, float],
    *,
    model: str = "",
    quoted: Sequence[tuple[str, float]] = (),
) -> Signals:
    """Read the signals of a question's passages; `weights` has the idf of its content terms.

    `model` embedded them; `quoted` are the sentences of an answer with their cosines.
    """
    language = language_of(question.text)

    def best(cosines: Iterable[tuple[str, float]], *, same: bool) -> float | None:
        return max(
            (c for text, c in cosines if (language_of(text) == language) == same), default=None
        )

    passages = [(hit.text, hit.scores["dense"]) for hit in hits if "dense" in hit.scores]
    coverage = best_coverage(question, hits, weights)
    reranked = [hit.scores["rerank"] for hit in hits if "rerank" in hit.scores]
    return Signals(
        max((cosine for _, cosine in passages), default=None),
        None if coverage is None else coverage.share,
        max(reranked, default=None),
        0.0 if coverage is None else math.log1p(coverage.words),
        passage=best(passages, same=True),
        sentence=best(quoted, same=True),
        other_passage=best(passages, same=False),
        other_sentence=best(quoted, same=False),
        model=model,
    )


@dataclass(frozen=True, slots=True)
class ModelCutoffs:
    """A model's cut-offs for the question's own language and for the other.

    For passages alone, and with quoted sentences; None for a language that the model does not read.
    """

    passages: tuple[Cutoff, Cutoff | None]
    sentences: tuple[Cutoff, Cutoff | None]


# Used without a calibration: by words alone, and by model. Fitted by logistic regression on one
# half, by document, of everyday questions about a mixed collection, of CLAPNQ, CMRC 2018 and of
# questions about documents in the other language; shifted so that one threshold serves them all.
# Questions in the documents' language counted 10 times where they are everyday ones. Two languages
# share few words, so that cosines alone judge the other. `benchmarks.refusal_fit` prints them; its
# bias of -5.7 for quoted sentences is -5.6 here, as with rounded weights -5.7 refused more than 3%.
# docs/benchmarks.md has what the other halves say.
BY_WORDS = Cutoff(-5.1, (6.2, 1.3), (0.0, 0.0), 0.5, ("share", "words"))
_MINILM = Cutoff(-7.3, (7.5, 3.5, 1.5), (0.0, 0.0, 0.0), 0.5, ("passage", "share", "words"))
BY_MODEL: dict[str, ModelCutoffs] = {
    "all-MiniLM-L6-v2": ModelCutoffs((_MINILM, None), (_MINILM, None)),
    "multilingual-e5-small": ModelCutoffs(
        (
            Cutoff(-4.7, (3.0, 6.3), (0.0, 0.0), 0.5, ("passage", "share")),
            Cutoff(-3.3, (6.3,), (0.0,), 0.5, ("other_passage",)),
        ),
        (
            Cutoff(-5.6, (5.4, 5.5), (0.0, 0.0), 0.5, ("share", "sentence")),
            Cutoff(-4.1, (7.7,), (0.0,), 0.5, ("other_sentence",)),
        ),
    ),
}
# Least probabilities: of an answer of quoted sentences, and before a language model is asked, which
# can refuse by itself.
QUOTED_FROM = 0.12
ASKED_FROM = 0.03
