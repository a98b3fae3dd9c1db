"""BLEU and chrF against sacreBLEU's own output.

Values: sacrebleu 2.6.0, corpus_bleu(HYPOTHESES, STREAMS), sentence_bleu, corpus_chrf, and for
Chinese corpus_bleu(..., tokenize="zh"), divided by 100.
"""

import pytest

from ragkit.errors import UsageError
from ragkit_eval.metrics.bleu import bleu, sentence_bleu, signature
from ragkit_eval.metrics.chrf import chrf, sentence_chrf

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
    scores = [sentence_bleu(p, rs).score for p, rs in zip(HYPOTHESES, REFERENCES, strict=True)]
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
    assert sentence_bleu("two words", ["two words"]).score == 1.0
    assert bleu(["two words"], [["two words"]]).score == 0.0


def test_an_empty_prediction_scores_nothing() -> None:
    assert sentence_bleu("", ["something"]).score == 0.0
    assert sentence_bleu("", [""]).score == 0.0


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
    with pytest.raises(UsageError, match="BLEU has no tokenizer 'char': choose zh or 13a"):
        bleu(["a"], [["a"]], tokenizer="char")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="word order of chrF is -1"):
        chrf(["a"], [["a"]], word_order=-1)


def test_the_signature_names_sacrebleu() -> None:
    import sacrebleu

    assert f"sacrebleu:{sacrebleu.__version__}" in signature()
