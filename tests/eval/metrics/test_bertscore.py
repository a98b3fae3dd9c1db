"""BERTScore with the models that come with ragkit: real weights, no network."""

import pytest

from ragkit.embed.find import MINILM, default_model, find_model
from ragkit.errors import ModelError, UsageError
from ragkit_eval.metrics.bertscore import BertScore


@pytest.fixture(scope="module")
def scorer() -> BertScore:
    return BertScore(MINILM)


def test_identical_texts_score_one(scorer: BertScore) -> None:
    for text in ("The cat sat on the mat.", "x", "long words " * 300):  # over 256 tokens
        assert scorer.score(text, [text]).f == pytest.approx(1, abs=1e-5)


def test_meaning_counts(scorer: BertScore) -> None:
    reference = "The physician treated the patient."
    near = scorer.score("The doctor cured the sick man.", reference).f
    far = scorer.score("Stocks fell sharply on Monday.", reference).f
    assert 1 > near > far > 0  # disjoint texts are not opposite ones: their score is not 0
    assert near > far + 0.1


def test_the_formula_by_another_way_to_the_same_embeddings(scorer: BertScore) -> None:
    """Greedy matching over the last layer, [CLS] and [SEP] left out, as the paper has it."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = str(find_model(MINILM).folder)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)

    def embedded(text: str) -> torch.Tensor:
        with torch.no_grad():
            hidden = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        return torch.nn.functional.normalize(hidden[1:-1], dim=1)

    first, second = embedded("a quick fox"), embedded("the fast red fox")
    likeness = first @ second.T
    precision, recall = likeness.amax(1).mean().item(), likeness.amax(0).mean().item()
    score = scorer.score("a quick fox", ["the fast red fox"])
    assert score.precision == pytest.approx(precision, abs=1e-5)
    assert score.recall == pytest.approx(recall, abs=1e-5)
    assert score.f == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-5)


def test_the_best_reference_counts_and_empty_texts_have_an_answer(scorer: BertScore) -> None:
    assert scorer.score("a fox", ["stocks fell", "a fox"]).f == pytest.approx(1, abs=1e-5)
    assert scorer.score("", [""]).f == 1
    assert scorer.score("", ["a"]).f == scorer.score("a", [""]).f == 0
    with pytest.raises(UsageError, match="at least one reference"):
        scorer.score("a", [])


def test_the_signature_names_the_weights(scorer: BertScore) -> None:
    assert "model:all-MiniLM-L6-v2|rev:" in scorer.signature()
    assert BertScore().model == default_model()


def test_a_model_that_is_not_there() -> None:
    with pytest.raises(ModelError, match="does not exist"):
        BertScore("./nowhere").score("a", ["b"])
