"""Scorers of texts: a number, a short answer, or any text metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from ragkit.errors import UsageError
from ragkit_eval.run.item import Item, Response, Scored
from ragkit_eval.tasks.extract import final_number, first_line, plain_number, said_answer
from ragkit_eval.tasks.extract_leniently import lenient_answer, lenient_number, same_answer

if TYPE_CHECKING:
    from ragkit_eval.metrics.metric import TextMetric
    from ragkit_eval.tasks.spec import Spec


@dataclass(frozen=True)
class NumberScorer:
    """Compares the final number of a solution with the target, as numbers: 3.0 is 3.

    `acc` reads it by the published rule; `acc_lenient` also out of \\boxed{...}, emphasis,
    full-width digits and a Chinese announcement.
    """

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the signature of each metric."""
        return {
            "acc": "acc|rule:final-number|v:1",
            "acc_lenient": "acc_lenient|rule:final-number-in-any-notation|v:1",
        }

    def score(self, item: Item, response: Response) -> Scored:
        """Score a response."""
        extract = final_number(response.text)
        lenient = lenient_number(response.text)
        targets = [plain_number(target) for target in item.targets]
        right, lenient_right = (
            float(any(_same_number(number, target) for target in targets))
            for number in (extract.text, lenient)
        )
        scores = {"acc": right, "acc_lenient": max(right, lenient_right)}
        return Scored(extract.text, scores, extract.fallback)


@dataclass(frozen=True)
class SaidScorer:
    """Compares a short answer exactly: the first line, or the announced answer of a reasoned one.

    `exact_match` is BIG-Bench Hard's rule: case and punctuation count. `exact_match_lenient` also
    takes an answer in another notation: emphasis, \\boxed{...}, an option's letter with its text.
    """

    reasoned: bool

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the signature of each metric."""
        rule = "said-answer" if self.reasoned else "first-line"
        return {
            "exact_match": f"exact_match|rule:{rule}|v:1",
            "exact_match_lenient": f"exact_match_lenient|rule:{rule}-in-any-notation|v:1",
        }

    def score(self, item: Item, response: Response) -> Scored:
        """Score a response."""
        if self.reasoned:
            text, fallback = said_answer(response.text)
        else:
            text, fallback = first_line(response.text), False
        right = text in {target.strip() for target in item.targets}
        lenient = lenient_answer(response.text, reasoned=self.reasoned)
        lenient_right = right or any(same_answer(lenient, target) for target in item.targets)
        scores = {"exact_match": float(right), "exact_match_lenient": float(lenient_right)}
        return Scored(text, scores, fallback)


@dataclass(frozen=True)
class TextScorer:
    """Scores the text by text metrics against the item's targets."""

    text_metrics: tuple[tuple[str, TextMetric], ...]

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the signature of each metric."""
        return {name: metric.signature for name, metric in self.text_metrics}

    def score(self, item: Item, response: Response) -> Scored:
        """Score a response."""
        text = response.text.strip()
        scores = {name: metric.item(text, item.targets) for name, metric in self.text_metrics}
        return Scored(text, scores)


def text_scorer(spec: Spec) -> TextScorer:
    """Build the scorer of a task's text metrics. Raises UsageError for an unknown metric."""
    from ragkit_eval.metrics.registry import text_metric

    names = dict.fromkeys((spec.metric, *spec.metrics))
    try:
        return TextScorer(tuple((name, text_metric(name)) for name in names))
    except UsageError as error:
        raise UsageError(f"{spec.name}: {error}") from error


def _same_number(a: str, b: str) -> bool:
    try:
        return Decimal(a) == Decimal(b)
    except InvalidOperation:
        return a == b and bool(a)
