"""What a search says about whether its passages answer: signals, and a cut-off on them.

Signals come from scores and words; it knows neither the store nor how a cut-off was fitted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragkit.answer.evidence import most_held
from ragkit.answer.question import Question, language_of
from ragkit.types import Hit

SIGNALS = ("cosine", "share", "words")
Languages = tuple[str, str]
RERANKED = ("rerank",)  # of a reranker its score alone, so that it means the same for each passage


@dataclass(frozen=True, slots=True)
class Signals:
    """What speaks for an answer: the best cosine of a passage and of a sentence, 0 to 1; the share
    of the question that one passage holds, 0 to 1, and ln(1 + words of it); and the best score of a
    reranker. `model` names the embedding model where its cosines are known, `languages` those of
    the question and of that sentence or, without one, of the best passage, "zh" or "".

    None: the model does not read the question, no sentence was compared, it asks for nothing,
    nothing was reranked.
    """

    cosine: float | None
    share: float | None
    rerank: float | None = None
    words: float = 0.0
    sentence: float | None = None
    model: str = ""
    languages: Languages = ("", "")

    def of(self, names: Sequence[str]) -> list[float | None]:
        """List the signals of these names, all of SIGNALS or RERANKED."""
        values = {
            "cosine": self.cosine,
            "share": self.share,
            "words": self.words,
            "rerank": self.rerank,
            "sentence": self.sentence,
        }
        return [values[name] for name in names]

    @property
    def probability(self) -> float:
        """How probable an answer is where nobody has calibrated, 0 to 1."""
        known = BY_MODEL.get((self.model, *self.languages))
        if self.cosine is None or known is None:
            return BY_WORDS.score(self)
        by_passage, by_sentence = known
        return (by_passage if self.sentence is None else by_sentence).score(self)


def signals(
    question: Question,
    hits: Sequence[Hit],
    weights: Mapping[str, float],
    *,
    model: str = "",
    sentence: float | None = None,
    quoted: str = "",
) -> Signals:
    """Read the signals of a question's passages; `weights` has the idf of its content terms.

    `model` embedded them; `sentence` is the best cosine of a sentence, `quoted` its text.
    """
    best = quoted or (hits[0].text if hits else "")
    cosines = [hit.scores["dense"] for hit in hits if "dense" in hit.scores]
    held = most_held(question, hits, weights)
    reranked = [hit.scores["rerank"] for hit in hits if "rerank" in hit.scores]
    return Signals(
        max(cosines, default=None),
        None if held is None else held.share,
        max(reranked, default=None),
        0.0 if held is None else math.log1p(held.words),
        sentence,
        model,
        (language_of(question.text), language_of(best)),
    )


@dataclass(frozen=True, slots=True)
class Cutoff:
    """A logistic regression on the signals, and the score below which a question is refused.

    score = 1 / (1 + exp(-(bias + sum of weight (signal - mean)))): the probability of an answer,
    if questions come as they came to the fit. A signal that is None counts as its mean.
    """

    bias: float
    weights: tuple[float, ...]
    means: tuple[float, ...]
    threshold: float
    signals: tuple[str, ...] = SIGNALS

    def score(self, found: Signals) -> float:
        """Return the score of a question's signals, 0 to 1."""
        values = found.of(self.signals)
        logit = self.bias + math.fsum(
            weight * (value - mean)
            for weight, value, mean in zip(self.weights, values, self.means, strict=True)
            if value is not None
        )
        return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0

    def refuses(self, found: Signals) -> bool:
        """Tell whether the score is below the threshold."""
        return self.score(found) < self.threshold

    @property
    def least(self) -> float | None:
        """The reranker's score that the threshold stands for: a passage below it is refused.

        None where the cut-off is not on such a score, or a higher one is no better sign.
        """
        if self.signals != RERANKED or self.weights[0] <= 0:
            return None
        if not 0 < self.threshold < 1:
            return math.copysign(math.inf, self.threshold - 0.5)
        logit = math.log(self.threshold / (1 - self.threshold))
        return self.means[0] + (logit - self.bias) / self.weights[0]


# Where nobody has calibrated: by words alone, and by model, of passages and with sentences. Fitted
# by logistic regression on one half, by document, of everyday questions about a mixed collection,
# of CLAPNQ, CMRC 2018 and of questions about documents in the other language, each set and answer
# counting alike; rounded, and shifted so that one threshold serves them all. docs/benchmarks.md has
# what the other halves say.
BY_WORDS = Cutoff(-5.1, (6.2, 1.3), (0.0, 0.0), 0.5, ("share", "words"))
_MINILM = Cutoff(-7.3, (7.5, 3.5, 1.5), (0.0, 0.0, 0.0), 0.5)
_ONE_LANGUAGE = (
    Cutoff(-3.7, (2.1, 2.8), (0.0, 0.0), 0.5, ("cosine", "share")),
    Cutoff(-3.9, (1.1, 4.5, 0.45), (0.0, 0.0, 0.0), 0.5, ("share", "sentence", "words")),
)
_TWO_LANGUAGES = (  # they share few words, so that words say little
    Cutoff(-4.3, (7.5,), (0.0,), 0.5, ("cosine",)),
    Cutoff(-4.6, (5.6, 5.6), (0.0, 0.0), 0.5, ("cosine", "sentence")),
)
BY_MODEL: dict[tuple[str, str, str], tuple[Cutoff, Cutoff]] = {
    ("all-MiniLM-L6-v2", "", ""): (_MINILM, _MINILM),
    ("multilingual-e5-small", "", ""): _ONE_LANGUAGE,
    ("multilingual-e5-small", "zh", "zh"): _ONE_LANGUAGE,
    ("multilingual-e5-small", "", "zh"): _TWO_LANGUAGES,
    ("multilingual-e5-small", "zh", ""): _TWO_LANGUAGES,
}
# Less probable ones are refused: by quoted sentences, and before a language model is asked, which
# can refuse by itself.
QUOTED_FROM = 0.12
ASKED_FROM = 0.03
