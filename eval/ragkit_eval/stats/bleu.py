"""BLEU as a function of summed segment statistics, so that it can be resampled.

sacreBLEU counts the n-grams.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragkit.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def bleu_statistics(
    predictions: Sequence[str], references: Sequence[Sequence[str]], *, tokenize: str = "13a"
) -> Floats:
    """Count each segment's lengths of prediction and reference, matched 1- to 4-grams and totals.

    `references` has one sequence per segment, all of the same length. Shape (segments, 10), in
    sacreBLEU's order. Raises UsageError for unequal lengths.
    """
    import numpy as np
    from sacrebleu.metrics.bleu import BLEU

    widths = {len(alternatives) for alternatives in references}
    if len(predictions) != len(references) or not predictions or len(widths) != 1 or 0 in widths:
        raise UsageError(
            f"{len(predictions)} predictions and {len(references)} lists of references do not fit:"
            " give one list for each, all of the same length, none empty"
        )
    streams = [list(stream) for stream in zip(*references, strict=True)]
    metric = BLEU(references=streams, tokenize=tokenize, force=True)
    counts: list[list[float]] = metric._extract_corpus_statistics(predictions, None)
    return np.asarray(counts, dtype=np.float64)


def bleu_score(sums: Floats) -> Floats:
    """Return BLEU, 0 to 1, of summed statistics; shapes (samples, 10) to (samples,).

    Brevity penalty times the geometric mean of the four precisions, without smoothing, 0 where
    one of them is. Source: Papineni et al. 2002, https://doi.org/10.3115/1073083.1073135.
    """
    import numpy as np

    lengths, reference_lengths = sums[:, 0], sums[:, 1]
    matched, totals = sums[:, 2:6], sums[:, 6:10]
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.log(matched / totals).mean(axis=1)
        brevity = np.minimum(0.0, 1 - reference_lengths / lengths)
    score: Floats = np.nan_to_num(np.exp(precision + brevity), nan=0.0)
    return score
