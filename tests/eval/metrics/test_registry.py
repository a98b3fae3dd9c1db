"""Metrics by name: options, close names, and what a set must be like."""

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.metrics.registry import names, options, text_metric


def test_names_and_options() -> None:
    assert {"bleu", "rouge-lsum", "meteor", "reference_recall", "bertscore"} <= set(names())
    assert options("rouge-7") == options("rouge-1")
    assert "1.5.5" in options("rouge-su9")


def test_a_name_in_another_spelling_is_the_same_metric() -> None:
    assert text_metric("Exact-Match").name == text_metric(" exact_match").name == "exact_match"
    assert text_metric("ROUGE-L:stem").name == "rouge-l:stem"


def test_options_choose() -> None:
    metric = text_metric("rouge-2:stem:recall:pool")
    assert metric.item("two dogs ran off", ["two dog", "one dog"]) == 1 / 2
    assert "stem:1.5.5" in metric.signature
    assert metric.signature.endswith("refs:pool|v:1|stat:recall")
    assert text_metric("rouge-s9").signature.startswith("rouge-s|skip:9|")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("blue", "unknown metric 'blue': did you mean bleu?"),
        ("rougel", "did you mean rouge-l"),
        ("exact", "did you mean exact_match"),
        ("f1", "did you mean token_f1?"),
        ("rouge-0", "did you mean rouge-"),
        ("nothing-like-it", "of text there are reference_recall, contains"),
        ("", "of text there are"),
        ("ndcg@10", "'ndcg@10' is a measure of retrieval runs: give such a run, with --qrels"),
        ("R-Precision", "is a measure of retrieval runs"),
        ("rouge-l:stemm", "unknown option 'stemm': did you mean stem?"),
        ("contains:stem", "the metric contains takes none"),
        ("token_f1:squad:cmrc", "cannot be both squad and cmrc: choose one"),
        ("meteor:wordnet=", "has no value"),
        ("rouge-1:1.5.5", "unknown option '1.5.5'"),
    ],
)
def test_what_is_unknown_is_said_with_what_is_close(spec: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        text_metric(spec)
    assert message in str(error.value)


def test_a_wordnet_that_is_not_there() -> None:
    with pytest.raises(NotFoundError, match="no WordNet at /nowhere"):
        text_metric("meteor:wordnet=/nowhere")


def test_sets_are_checked() -> None:
    metric = text_metric("contains")
    with pytest.raises(UsageError, match="2 predictions but 1 items of references"):
        metric.corpus(["a", "b"], [["a"]])
    with pytest.raises(UsageError, match="an empty set has no score"):
        metric.corpus([], [])
    with pytest.raises(UsageError, match="item 2 has no list of references"):
        metric.corpus(["a", "b"], [["a"], []])
    with pytest.raises(UsageError, match="the item has no list of references"):
        metric.item("a", [])
    with pytest.raises(UsageError, match="as a list"):
        metric.item("a", "a")
    assert metric.corpus(["a", "b"], [["a"], ["c"]]) == 0.5
