"""Multiple choice: by the first token's letter, by full log-likelihood, or from a text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragkit_eval.run.item import Item, Method, Response, Scored
from ragkit_eval.tasks.extract import math_answer, option_letter, option_letters, same_math

_LIKELIHOOD = {
    "acc": "acc|by:logprob|v:1",
    "acc_norm": "acc_norm|by:logprob/characters|v:1",
    "acc_bytes": "acc_bytes|by:logprob/bytes|v:1",
}


@dataclass(frozen=True)
class ChoiceScorer:
    """Scores the choice of an option.

    letter: the label with the highest probability of being the first token; the forms "A" and
    " A" count together; if no label is among the candidates, the text is read instead and the item
    counts as a fallback. loglikelihood: the likeliest continuation (acc), per character without
    its leading space (acc_norm) and per byte (acc_bytes), as in lm-evaluation-harness 0.4.13.
    generate: the letter in the text. Ties go to the earlier label. A response without a letter is
    wrong.
    """

    method: Method

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the signature of each metric."""
        if self.method == "loglikelihood":
            return _LIKELIHOOD
        return {"acc": f"acc|by:{self.method}|v:1"}

    def score(self, item: Item, response: Response) -> Scored:
        """Score a response."""
        if self.method == "loglikelihood":
            return _by_likelihood(item, response)
        letter = letter_of(item.labels, response.top) if self.method == "letter" else ""
        if letter:
            return Scored(letter, _accuracy(letter in item.targets))
        extract = option_letter(response.text, item.labels)
        fallback = extract.fallback or self.method == "letter"
        return Scored(extract.text, _accuracy(extract.text in item.targets), fallback)


@dataclass(frozen=True)
class MassScorer:
    """Scores the share of the probability of all options that the true ones have: TruthfulQA's MC2.

    mc2 = sum of p(option) over the true options / sum over all, p the likelihood of the whole
    continuation. Source: Lin et al. 2022, https://aclanthology.org/2022.acl-long.229.
    """

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the signature of each metric."""
        return {"mc2": "mc2|by:probability-of-true-options|v:1"}

    def score(self, item: Item, response: Response) -> Scored:
        """Score a response; the prediction is the likeliest option."""
        logprobs = [likelihood.logprob for likelihood in response.likelihoods]
        if len(logprobs) != len(item.choices) or not logprobs:
            return Scored("", {"mc2": 0.0}, fallback=True)
        pairs = zip(item.labels, logprobs, strict=True)
        true = [logprob for label, logprob in pairs if label in item.targets]
        # Not every option may have the probability 0, which is a share of nothing.
        total = _logsumexp(logprobs)
        share = math.exp(_logsumexp(true) - total) if total > -math.inf else 0.0
        return Scored(item.labels[_best(logprobs, [1] * len(logprobs))], {"mc2": min(share, 1.0)})


@dataclass(frozen=True)
class LabelSetScorer:
    """Scores AGIEval's questions: exactly the right options, or equal mathematics.

    For a question with one right label a single letter is read. A question without a right label
    in the data is always wrong. The blanks of a cloze question are separated by semicolons.
    Mathematics is compared as text after its notation is normalised.
    """

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the signature of each metric."""
        return {"acc": "acc|rule:all-and-only|math:as-text|v:1"}

    def score(self, item: Item, response: Response) -> Scored:
        """Score a response."""
        if not item.labels:
            cloze = math_answer(response.text)
            right = any(same_math(cloze.text, target) for target in item.targets if cloze.text)
            return Scored(cloze.text, _accuracy(right), cloze.fallback)
        several = bool(item.extra.get("several"))
        extract_options = option_letters if several else option_letter
        extract = extract_options(response.text, item.labels)
        expected = "".join(item.targets)
        return Scored(
            extract.text, _accuracy(bool(expected) and extract.text == expected), extract.fallback
        )


def letter_of(labels: Sequence[str], top: Sequence[tuple[str, float]]) -> str:
    """Return the label that is likeliest as the first token, "" if none is a candidate."""
    best, likeliest = "", -math.inf
    for label in labels:
        logprobs = [value for token, value in top if token in (label, f" {label}")]
        total = _logsumexp(logprobs)
        if total > likeliest:
            best, likeliest = label, total
    return best


def _by_likelihood(item: Item, response: Response) -> Scored:
    logprobs = [likelihood.logprob for likelihood in response.likelihoods]
    if len(logprobs) != len(item.choices) or not logprobs:
        return Scored("", dict.fromkeys(_LIKELIHOOD, 0.0), fallback=True)
    texts = [choice.removeprefix(" ") for choice in item.choices]
    chosen = {
        "acc": _best(logprobs, [1] * len(texts)),
        "acc_norm": _best(logprobs, [len(text) for text in texts]),
        "acc_bytes": _best(logprobs, [len(text.encode()) for text in texts]),
    }
    scores = {name: float(item.labels[at] in item.targets) for name, at in chosen.items()}
    return Scored(item.labels[chosen["acc"]], scores)


def _best(logprobs: Sequence[float], lengths: Sequence[int]) -> int:
    values = [value / max(length, 1) for value, length in zip(logprobs, lengths, strict=True)]
    return max(range(len(values)), key=values.__getitem__)


def _logsumexp(values: Sequence[float]) -> float:
    highest = max(values, default=-math.inf)
    if highest == -math.inf:
        return highest
    return highest + math.log(math.fsum(math.exp(value - highest) for value in values))


def _accuracy(right: bool) -> dict[str, float]:
    return {"acc": float(right)}
