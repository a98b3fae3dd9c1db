"""Statistics of paired scores: intervals, tests, the smallest difference that data can show."""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_eval.stats.bootstrap import Interval as Interval
    from ragkit_eval.stats.bootstrap import mean_interval as mean_interval
    from ragkit_eval.stats.bootstrap import paired_difference as paired_difference
    from ragkit_eval.stats.corpus import CorpusDifference as CorpusDifference
    from ragkit_eval.stats.corpus import bootstrap_p_values as bootstrap_p_values
    from ragkit_eval.stats.corpus import corpus_difference as corpus_difference
    from ragkit_eval.stats.corpus import corpus_interval as corpus_interval
    from ragkit_eval.stats.corpus import randomisation_p_values as randomisation_p_values
    from ragkit_eval.stats.holm_correction import holm as holm
    from ragkit_eval.stats.mcnemar_exact import mcnemar as mcnemar
    from ragkit_eval.stats.power import detectable as detectable
    from ragkit_eval.stats.signflip import permutation as permutation
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit_eval.stats.bootstrap": "Interval mean_interval paired_difference",
            "ragkit_eval.stats.corpus": (
                "CorpusDifference bootstrap_p_values corpus_difference corpus_interval"
                " randomisation_p_values"
            ),
            "ragkit_eval.stats.power": "detectable",
            "ragkit_eval.stats.holm_correction": "holm",
            "ragkit_eval.stats.mcnemar_exact": "mcnemar",
            "ragkit_eval.stats.signflip": "permutation",
        },
    )
