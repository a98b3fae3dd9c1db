"""BLEU and chrF against sacreBLEU's own output.

Values: sacrebleu 2.6.0, corpus_bleu(HYPOTHESES, STREAMS), sentence_bleu, corpus_chrf, and for
Chinese corpus_bleu(..., tokenize="zh"), divided by 100.
"""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.metrics.bleu import Tokenizer, bleu, corpus_bleu, sentence_bleu, signature
from ragkit_eval.metrics.chrf import chrf, corpus_chrf, sentence_chrf
from ragkit_eval.metrics.registry import text_metric
from ragkit_eval.metrics.ter import corpus_ter, ter

HYPOTHESES = ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."]
REFERENCES = [
    ["The dog bit the man.", "The dog had bit the man."],
    ["It was not unexpected.", "No one was surprised."],
    ["The man bit him first.", "The man had bitten the dog."],
]
ZH, ZH_REFERENCE = "红楼梦是清代曹雪芹写的长篇小说。", "《红楼梦》是清代作家曹雪芹创作的长篇小说。"


def test_a_corpus_of_several_references() -> None:
    score = bleu(HYPOTHESES, REFERENCES)
    assert score.score == pytest.approx(0.48530827009929865, abs=1e-12)
    assert score.precisions == (14 / 17, 7 / 14, 5 / 11, 3 / 8)
    assert score.brevity_penalty == pytest.approx(0.9428731438548749)
    assert score.tokenizer == "13a"


def test_items_with_fewer_references_than_others() -> None:
    scores = bleu(HYPOTHESES, [REFERENCES[0][:1], *REFERENCES[1:]])
    twice = bleu(HYPOTHESES, [REFERENCES[0][:1] * 2, *REFERENCES[1:]])
    assert scores == twice


def test_sentences() -> None:
    scores = [sentence_bleu(p, rs) for p, rs in zip(HYPOTHESES, REFERENCES, strict=True)]
    assert scores == pytest.approx([1.0, 0.14794015674776452, 0.29071536848410968], abs=1e-12)
    assert scores[0] == 1.0  # and not 1.0000000000000004


def test_chinese_takes_the_chinese_tokenizer() -> None:
    score = bleu([ZH], [[ZH_REFERENCE]])
    assert score.score == pytest.approx(0.38827383627453960, abs=1e-12)
    assert score.precisions == pytest.approx((0.9375, 0.733333, 0.5, 0.230769), abs=1e-6)
    assert score.brevity_penalty == pytest.approx(0.7316156289466418)
    assert score.tokenizer == "zh"
    assert bleu([ZH], [[ZH_REFERENCE]], tokenizer="13a").score == 0  # what its default gives


def test_a_text_shorter_than_four_words_scores_by_itself_but_not_as_a_corpus() -> None:
    assert sentence_bleu("two words", ["two words"]) == 1.0
    assert bleu(["two words"], [["two words"]]).score == 0.0


def test_an_empty_prediction_scores_nothing() -> None:
    assert sentence_bleu("", ["something"]) == 0.0
    assert sentence_bleu("", [""]) == 0.0


def test_a_corpus_score_is_no_mean_and_does_not_depend_on_the_order() -> None:
    assert bleu(HYPOTHESES[::-1], REFERENCES[::-1]) == bleu(HYPOTHESES, REFERENCES)


def test_chrf_and_chrf_with_words() -> None:
    assert chrf(HYPOTHESES, REFERENCES) == pytest.approx(0.5972751782684763, abs=1e-12)
    assert chrf(HYPOTHESES, REFERENCES, word_order=2) == pytest.approx(
        0.5915310444399262, abs=1e-12
    )
    assert chrf([ZH], [[ZH_REFERENCE]]) == pytest.approx(0.34769343430099006, abs=1e-12)
    assert sentence_chrf("", ["a"]) == 0


def test_unequal_and_empty_sets_are_refused() -> None:
    for score in (bleu, chrf):
        with pytest.raises(UsageError, match="1 predictions and 2 items"):
            score(["a"], [["a"], ["b"]])
        with pytest.raises(UsageError, match="at least one"):
            score([], [])


def test_references_are_lists_that_hold_one() -> None:
    for score in (bleu, chrf):
        with pytest.raises(UsageError, match="needs at least one reference"):
            score(["a", "b"], [["a"], []])
        with pytest.raises(UsageError, match="are a list, not one text"):
            score(["the cat"], ["the cat"])
    with pytest.raises(UsageError, match="BLEU has no tokenizer '14a': choose 13a, zh"):
        bleu(["a"], [["a"]], tokenizer="14a")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="word order of chrF is -1"):
        chrf(["a"], [["a"]], word_order=-1)


def test_each_item_has_the_tokenizer_of_its_script() -> None:
    # "13a" takes "共有1889年" for one word, which the full stop of the reference does not match
    item = ("建于1889年的塔，共有3层。", ["建于1889年的塔，共有3层"])
    assert sentence_bleu(*item) == sentence_bleu(*item, tokenizer="zh") > 0.8
    mixed = bleu([ZH, HYPOTHESES[0]], [[ZH_REFERENCE], REFERENCES[0][:1]])
    assert mixed.tokenizer == "13a:1+zh:1"
    assert bleu([HYPOTHESES[0]], [REFERENCES[0]]).tokenizer == "13a"
    # without any Chinese both tokenizers cut alike, so that all is sacreBLEU's
    assert (
        mixed.score
        == bleu([ZH, HYPOTHESES[0]], [[ZH_REFERENCE], REFERENCES[0][:1]], tokenizer="zh").score
    )


@pytest.mark.parametrize("tokenizer", ["13a", "zh", "intl", "char", "none"])
def test_every_tokenizer_is_sacrebleus(tokenizer: Tokenizer) -> None:
    import sacrebleu

    predictions = [*HYPOTHESES, "«Ärger» – 3.5% & more…", ZH, ""]
    references = [*(r[0] for r in REFERENCES), "«Ärger» — 3,5% and more.", ZH_REFERENCE, "x"]
    expected = sacrebleu.corpus_bleu(predictions, [references], tokenize=tokenizer)
    score = bleu(predictions, [[text] for text in references], tokenizer=tokenizer)
    assert score.score == pytest.approx(expected.score / 100, abs=1e-12)
    assert score.brevity_penalty == pytest.approx(expected.bp)
    assert text_metric(f"bleu:{tokenizer}").signature == signature(tokenizer=tokenizer)


def test_flores200_never_downloads_its_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(tmp_path))
    for remedy, there in (("pip install sentencepiece", None), (f"{tmp_path}/models", object())):
        monkeypatch.setattr("ragkit_eval.metrics.bleu.find_spec", lambda _, there=there: there)
        with pytest.raises(NotFoundError, match=remedy):
            bleu(["a"], [["a"]], tokenizer="flores200")


def test_smoothing_is_sacrebleus_also_in_resamples() -> None:
    import sacrebleu

    predictions, references = ["a b x y z", "q r s t u v"], ["a b c d e f g", "s r q w"]
    expected = sacrebleu.corpus_bleu(predictions, [references]).score / 100
    assert expected > 0
    assert bleu(predictions, [[r] for r in references]).score == pytest.approx(expected)
    of_set = corpus_bleu()
    sums = of_set.count(predictions, [[r] for r in references]).sum(0)
    assert of_set.score(np.stack([sums, 0 * sums, 3 * sums])) == pytest.approx(
        [expected, 0, _bleu_of(3 * sums)]
    )


def _bleu_of(sums: NDArray[np.float64]) -> float:
    from sacrebleu.metrics.bleu import BLEU

    length, expected, *counts = (int(value) for value in sums)
    score = BLEU.compute_bleu(counts[:4], counts[4:], length, expected, smooth_method="exp")
    return float(score.score) / 100


def test_the_signature_tells_references_and_tokenizer_that_were_used() -> None:
    of_set = corpus_bleu()
    assert "|nrefs:2|tok:13a|" in of_set.describe(HYPOTHESES, REFERENCES)
    assert "|nrefs:var|" in of_set.describe(HYPOTHESES, [REFERENCES[0][:1], *REFERENCES[1:]])
    assert "|nrefs:1|tok:zh|" in of_set.describe([ZH], [[ZH_REFERENCE]])
    assert "|nrefs:1|" in corpus_chrf().describe([ZH], [[ZH_REFERENCE]])
    assert "|nrefs:1|" in corpus_ter().describe([ZH], [[ZH_REFERENCE]])


def test_ter_is_sacrebleus() -> None:
    import sacrebleu
    from sacrebleu.metrics.ter import TER

    streams = [[texts[n] for texts in REFERENCES] for n in (0, 1)]
    expected = sacrebleu.corpus_ter(HYPOTHESES, streams).score / 100
    assert ter(HYPOTHESES, REFERENCES) == pytest.approx(expected)
    chinese = TER(normalized=True, asian_support=True).corpus_score([ZH], [[ZH_REFERENCE]])
    assert ter([ZH], [[ZH_REFERENCE]]) == pytest.approx(chinese.score / 100)
    # by hand: "b" and "a" change places, one move; of 4 words, of "x y z w" none is right
    assert ter(["b a c d"], [["a b c d"]]) == 1 / 4
    metric = text_metric("ter")
    assert metric.name == "1-ter"
    assert metric.item("x y z w q", ["a b c d"]) == 1 - 5 / 4
    assert metric.item("", ["a b"]) == 0


def test_the_signature_names_sacrebleu() -> None:
    import sacrebleu

    assert f"sacrebleu:{sacrebleu.__version__}" in signature()
