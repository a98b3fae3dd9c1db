"""BLEU by sacreBLEU, with the tokenizer for the script of the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, cast, get_args

from ragkit.errors import UsageError
from ragkit_eval.metrics.references import check_references
from ragkit_eval.metrics.words import is_cjk

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

Tokenizer = Literal["zh", "13a"]


@dataclass(frozen=True, slots=True)
class Bleu:
    """The score, the 1- to 4-gram precisions and the brevity penalty, all 0 to 1.

    A precision of n-grams that neither text is long enough for is 0.
    """

    score: float
    precisions: tuple[float, float, float, float]
    brevity_penalty: float
    tokenizer: Tokenizer


def bleu(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenizer: Tokenizer | None = None,
) -> Bleu:
    """Score a corpus; n-grams are counted over all items and then divided.

    BLEU = BP * exp(1/4 sum over n <= 4 of ln p_n); BP = exp(1 - r/c) where the predictions' c words
    are fewer than the r of the references closest in length, else 1. Zero counts are smoothed
    exponentially. `references` has one or more references for each prediction. The tokenizer is
    `zh` where CJK characters outnumber other words in the references, else `13a`. A corpus without
    a text of four words scores 0. Raises UsageError for an empty corpus and unequal lengths.
    Sources: Papineni et al. 2002, https://doi.org/10.3115/1073083.1073135; Post 2018,
    https://aclanthology.org/W18-6319.

    >>> bleu(["the cat sat on the mat"], [["the cat sat on a mat"]]).precisions
    (0.8333333333333334, 0.6, 0.5, 0.3333333333333333)
    """
    if not predictions or len(predictions) != len(references):
        raise UsageError(
            f"BLEU of {len(predictions)} predictions and {len(references)} items of references: "
            "give the references of each prediction, and at least one prediction"
        )
    for texts in references:
        check_references(texts, "BLEU")
    name = tokenizer or _by_script([text for texts in references for text in texts])
    return _bleu(_scorer(name, False).corpus_score(list(predictions), by_place(references)), name)


def sentence_bleu(
    prediction: str, references: Sequence[str], *, tokenizer: Tokenizer | None = None
) -> Bleu:
    """Score a text; n-grams longer than the text do not count ("effective order").

    An empty prediction scores 0, also where the reference is empty.

    >>> sentence_bleu("a b", ["a b"]).score
    1.0
    """
    check_references(references, "BLEU")
    name = tokenizer or _by_script(references)
    return _bleu(_scorer(name, True).sentence_score(prediction, list(references)), name)


def by_place(references: Sequence[Sequence[str]]) -> list[list[str]]:
    """Order references as sacreBLEU takes them: the first of every item, then the second, ...

    An item with fewer references gets None, which sacreBLEU takes for no reference.
    """
    count = max(len(texts) for texts in references)
    return [
        [cast(str, texts[place] if place < len(texts) else None) for texts in references]
        for place in range(count)
    ]


def signature(*, tokenizer: Tokenizer | None = None) -> str:
    """Return the options and the version that the values depend on."""
    import sacrebleu

    return (
        f"bleu|tok:{tokenizer or 'zh-or-13a-by-script'}|case:mixed|smooth:exp|eff:items|"
        f"sacrebleu:{sacrebleu.__version__}|v:1"
    )


def _by_script(references: Sequence[str]) -> Tokenizer:
    return "zh" if is_cjk(" ".join(references)) else "13a"


@lru_cache(maxsize=4)
def _scorer(tokenizer: Tokenizer, effective_order: bool) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    if tokenizer not in get_args(Tokenizer):
        tokenizers = " or ".join(get_args(Tokenizer))
        raise UsageError(f"BLEU has no tokenizer {tokenizer!r}: choose {tokenizers}")
    return BLEU(tokenize=tokenizer, effective_order=effective_order)


def _bleu(score: object, tokenizer: Tokenizer) -> Bleu:
    from sacrebleu.metrics.bleu import BLEUScore

    assert isinstance(score, BLEUScore)
    unigrams, bigrams, trigrams, fourgrams = (
        correct / total if total else 0.0
        for correct, total in zip(score.counts, score.totals, strict=True)
    )
    # exp of a mean of logarithms can be 1.0000000000000004
    return Bleu(
        min(score.score / 100, 1.0),
        (unigrams, bigrams, trigrams, fourgrams),
        float(score.bp),
        tokenizer,
    )
