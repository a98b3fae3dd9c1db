"""BLEU by sacreBLEU's counts, with the tokenizer for the script of each item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.metrics.corpus_statistics import CorpusScore, count_items, number_of_references
from ragkit_eval.metrics.references import check_references
from ragkit_eval.metrics.words import is_chinese

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sacrebleu.metrics.bleu import BLEU

    Floats = NDArray[np.float64]

Tokenizer = Literal["13a", "zh", "intl", "char", "none", "flores200"]
TOKENIZERS: Final[tuple[Tokenizer, ...]] = get_args(Tokenizer)
_FLORES_MODEL: Final = "flores200sacrebleuspm"  # sacreBLEU's name of the file


@dataclass(frozen=True, slots=True)
class Bleu:
    """The score, the 1- to 4-gram precisions and the brevity penalty, all 0 to 1.

    A precision of n-grams that neither text is long enough for is 0. `tokenizer` is the one that
    was used, or both with the number of their items: "13a:480+zh:20".
    """

    score: float
    precisions: tuple[float, float, float, float]
    brevity_penalty: float
    tokenizer: str


def bleu(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenizer: Tokenizer | None = None,
) -> Bleu:
    """Score a corpus; n-grams are counted over all items and then divided.

    BLEU = BP * exp(1/4 sum over n <= 4 of ln p_n); BP = exp(1 - r/c) where the predictions' c words
    are fewer than the r of the references closest in length, else 1. Zero counts are smoothed
    exponentially. `references` has one or more references for each prediction. The tokenizer of an
    item is `zh` where its prediction or a reference holds a Chinese character, else `13a`. A corpus
    without a text of four words scores 0. Raises UsageError for an empty corpus, unequal lengths
    and an unknown tokenizer, and NotFoundError where the model of `flores200` is not here.
    Sources: Papineni et al. 2002, https://doi.org/10.3115/1073083.1073135; Post 2018,
    https://aclanthology.org/W18-6319.

    >>> bleu(["the cat sat on the mat"], [["the cat sat on a mat"]]).precisions
    (0.8333333333333334, 0.6, 0.5, 0.3333333333333333)
    """
    sums = _count(predictions, references, tokenizer).sum(0)
    used = _used(predictions, references, tokenizer)
    return Bleu(float(_score(sums[None])[0]), *parts(sums), used)


def parts(sums: Floats) -> tuple[tuple[float, float, float, float], float]:
    """Return the precisions of 1- to 4-grams and the brevity penalty of summed counts, shape (10,).

    They are not smoothed.
    """
    first, second, third, fourth = (
        float(matched / total) if total else 0.0
        for matched, total in zip(sums[2:6], sums[6:10], strict=True)
    )
    return (first, second, third, fourth), float(_brevity(sums[None])[0])


def sentence_bleu(
    prediction: str, references: Sequence[str], *, tokenizer: Tokenizer | None = None
) -> float:
    """Score a text, 0 to 1; n-grams longer than the text do not count ("effective order").

    An empty prediction scores 0, also where the reference is empty.

    >>> sentence_bleu("a b", ["a b"])
    1.0
    """
    check_references(references, "BLEU")
    scorer = _scorer(tokenizer or _by_script(prediction, references), True)
    # exp of a mean of logarithms can be 1.0000000000000004
    return min(float(scorer.sentence_score(prediction, list(references)).score) / 100, 1.0)


def corpus_bleu(tokenizer: Tokenizer | None = None) -> CorpusScore:
    """Return BLEU of a set as a function of summed counts; each item has 10 of them.

    They are the lengths of prediction and reference, and matched and all 1- to 4-grams.
    """
    return CorpusScore(
        count=lambda predictions, references: _count(predictions, references, tokenizer),
        score=_score,
        describe=lambda predictions, references: _signature(
            _used(predictions, references, tokenizer), f"nrefs:{number_of_references(references)}|"
        ),
    )


def signature(*, tokenizer: Tokenizer | None = None) -> str:
    """Return the options and the version that the values depend on."""
    return _signature(tokenizer or "zh-or-13a-by-item")


def _signature(tokenizer: str, references: str = "") -> str:
    import sacrebleu

    return (
        f"bleu|{references}tok:{tokenizer}|case:mixed|smooth:exp|eff:items|"
        f"sacrebleu:{sacrebleu.__version__}|v:2"
    )


def _used(
    predictions: Sequence[str], references: Sequence[Sequence[str]], tokenizer: Tokenizer | None
) -> str:
    if tokenizer is not None:
        return tokenizer
    items = zip(predictions, references, strict=True)
    used = Counter(_by_script(prediction, texts) for prediction, texts in items)
    return next(iter(used)) if len(used) == 1 else "+".join(f"{t}:{used[t]}" for t in sorted(used))


def _by_script(prediction: str, references: Sequence[str]) -> Tokenizer:
    return "zh" if is_chinese(prediction, *references) else "13a"


def _count(
    predictions: Sequence[str], references: Sequence[Sequence[str]], tokenizer: Tokenizer | None
) -> Floats:
    return count_items(
        lambda prediction, texts: _scorer(tokenizer or _by_script(prediction, texts), False),
        predictions,
        references,
        "BLEU",
    )


def _score(sums: Floats) -> Floats:
    """Return BLEU of summed counts; shapes (sets, 10) to (sets,)."""
    import numpy as np

    with np.errstate(divide="ignore"):
        mean = np.log(_precisions(sums)).mean(axis=1)
    score: Floats = np.exp(mean) * _brevity(sums)
    return np.minimum(score, 1.0)


def _precisions(sums: Floats) -> Floats:
    """Return the precisions of 1- to 4-grams; shapes (sets, 10) to (sets, 4).

    The k-th order without a match counts 1 / (2**k times its n-grams): sacreBLEU's smoothing "exp".
    """
    import numpy as np

    matched, totals = sums[:, 2:6], sums[:, 6:10]
    unmatched = (matched == 0) & (totals > 0) & (matched.sum(axis=1, keepdims=True) > 0)
    smoothed = np.where(unmatched, 0.5 ** np.cumsum(unmatched, axis=1), matched)
    precisions: Floats = np.divide(
        smoothed, totals, out=np.zeros_like(smoothed, dtype=np.float64), where=totals > 0
    )
    return precisions


def _brevity(sums: Floats) -> Floats:
    import numpy as np

    lengths, reference_lengths = sums[:, 0], sums[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        penalty: Floats = np.exp(np.minimum(0.0, 1 - reference_lengths / lengths))
    return np.where(lengths > 0, penalty, (reference_lengths == 0) * 1.0)


@lru_cache(maxsize=16)
def _scorer(tokenizer: Tokenizer, effective_order: bool) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    if tokenizer not in TOKENIZERS:
        raise UsageError(f"BLEU has no tokenizer {tokenizer!r}: choose {', '.join(TOKENIZERS)}")
    if tokenizer == "flores200":
        _check_flores_model()
    # `force` leaves out a warning about texts that look as if they were tokenized already.
    return BLEU(tokenize=tokenizer, effective_order=effective_order, force=True)


def _check_flores_model() -> None:
    """Raise NotFoundError without the model, which sacreBLEU would otherwise download."""
    from sacrebleu.utils import SACREBLEU_DIR

    model = Path(SACREBLEU_DIR, "models", _FLORES_MODEL)
    if find_spec("sentencepiece") is None:
        raise NotFoundError(
            "the tokenizer flores200 needs the package sentencepiece: pip install sentencepiece"
        )
    if not model.is_file():
        raise NotFoundError(
            f"the tokenizer flores200 needs its SentencePiece model as {model}: fetch it once with"
            " sacreBLEU on a machine that is online, and copy it there"
        )
