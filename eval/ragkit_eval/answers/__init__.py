"""Metrics of answers: citations, refusals, groundedness, language, latency and cost."""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_eval.answers.answer_language import language_match as language_match
    from ragkit_eval.answers.citations import CitationProblem as CitationProblem
    from ragkit_eval.answers.citations import CitationValidity as CitationValidity
    from ragkit_eval.answers.citations import citation_recall as citation_recall
    from ragkit_eval.answers.citations import citation_validity as citation_validity
    from ragkit_eval.answers.cost import Cost as Cost
    from ragkit_eval.answers.cost import Prices as Prices
    from ragkit_eval.answers.cost import tokens_and_cost as tokens_and_cost
    from ragkit_eval.answers.failure_rates import Rates as Rates
    from ragkit_eval.answers.failure_rates import rates as rates
    from ragkit_eval.answers.grounds import Groundedness as Groundedness
    from ragkit_eval.answers.grounds import groundedness as groundedness
    from ragkit_eval.answers.latencies import Latency as Latency
    from ragkit_eval.answers.latencies import latency as latency
    from ragkit_eval.answers.latencies import percentile as percentile
    from ragkit_eval.answers.refusals import CurvePoint as CurvePoint
    from ragkit_eval.answers.refusals import RefusalCurve as RefusalCurve
    from ragkit_eval.answers.refusals import RefusalScores as RefusalScores
    from ragkit_eval.answers.refusals import refusal_curve as refusal_curve
    from ragkit_eval.answers.refusals import refusal_scores as refusal_scores
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit_eval.answers.citations": (
                "CitationProblem CitationValidity citation_recall citation_validity"
            ),
            "ragkit_eval.answers.cost": "Cost Prices tokens_and_cost",
            "ragkit_eval.answers.grounds": "Groundedness groundedness",
            "ragkit_eval.answers.failure_rates": "Rates rates",
            "ragkit_eval.answers.refusals": (
                "CurvePoint RefusalCurve RefusalScores refusal_curve refusal_scores"
            ),
            "ragkit_eval.answers.answer_language": "language_match",
            "ragkit_eval.answers.latencies": "Latency latency percentile",
        },
    )
