"""Scorers of responses by name; a score depends only on item and response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from ragkit.errors import UsageError
from ragkit_eval.run.item import Item, Response, Scored

if TYPE_CHECKING:
    from ragkit_eval.tasks.spec import Spec


class Scorer(Protocol):
    """Scores the responses of one task."""

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the signature of each of its metrics."""
        ...

    def score(self, item: Item, response: Response) -> Scored:
        """Score a response; never raises for the text of a model."""
        ...


def make_scorer(spec: Spec, *, execute_code: bool = False, weak_sandbox: bool = False) -> Scorer:
    """Build the scorer that a declaration names.

    Raises UsageError for an unknown scorer or metric, for a metric that the scorer does not have,
    and for a scorer that runs the model's code without permission.
    """
    from ragkit_eval.tasks.scorers.bias import BiasScorer
    from ragkit_eval.tasks.scorers.choice import ChoiceScorer, LabelSetScorer, MassScorer
    from ragkit_eval.tasks.scorers.conversation import AnswerScorer, JudgedScorer
    from ragkit_eval.tasks.scorers.program import program_scorer
    from ragkit_eval.tasks.scorers.refusal import RefusalScorer
    from ragkit_eval.tasks.scorers.text import NumberScorer, SaidScorer, text_scorer
    from ragkit_eval.tasks.spec import unknown

    table: Mapping[str, Callable[[], Scorer]] = {
        "choice": lambda: ChoiceScorer(spec.method),
        "label-set": LabelSetScorer,
        "mass": MassScorer,
        "bias": lambda: BiasScorer(spec.method),
        "refusal": RefusalScorer,
        "answer": AnswerScorer,
        "judged": JudgedScorer,
        "number": NumberScorer,
        "first-line": lambda: SaidScorer(reasoned=False),
        "said-answer": lambda: SaidScorer(reasoned=True),
        "text": lambda: text_scorer(spec),
        "program": lambda: program_scorer(
            spec.name, execute_code=execute_code, weak_sandbox=weak_sandbox
        ),
    }
    if spec.scorer not in table:
        raise UsageError(unknown("scorer", spec.scorer, table, where=spec.name))
    scorer = table[spec.scorer]()
    if spec.metric not in scorer.metrics:
        raise UsageError(unknown("metric", spec.metric, scorer.metrics, where=spec.name))
    return scorer
