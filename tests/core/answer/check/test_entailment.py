"""A natural-language-inference model, on a tiny classifier made on the spot."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ragkit.answer.check.entailment import (
    EntailmentModel,
    entailment_label,
    load_entailment,
    open_entailment,
)
from ragkit.answer.check.verify import verify
from ragkit.answer.write.citations import cite
from ragkit.errors import ModelError
from ragkit.types import Claim, Draft, Hit

WORDS = "the pump weighs forty kilos it is heavy light not".split()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers with a vocabulary of a dozen words; its weights are noise."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("nli")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
    tokenizer = Tokenizer(WordLevel({w: i for i, w in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    fast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", model_max_length=32
    )
    fast.save_pretrained(folder)
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=1.0,
        id2label={0: "CONTRADICTION", 1: "ENTAILMENT", 2: "NEUTRAL"},
        label2id={"CONTRADICTION": 0, "ENTAILMENT": 1, "NEUTRAL": 2},
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


PAIRS = [
    ("the pump weighs forty kilos", "it is heavy"),
    ("the pump weighs forty kilos", "it is not heavy"),
    ("it is light", "the pump weighs forty kilos"),
]


def test_probabilities_are_those_of_transformers_own_pipeline(tiny: Path) -> None:
    from transformers import pipeline

    reference = pipeline("text-classification", model=str(tiny), top_k=None, device="cpu")
    expected = [
        next(
            one["score"]
            for one in reference({"text": p, "text_pair": h})
            if one["label"] == "ENTAILMENT"
        )
        for p, h in PAIRS
    ]
    model = EntailmentModel(str(tiny), device="cpu")
    assert model(PAIRS) == pytest.approx(expected, abs=1e-5)
    assert max(expected) - min(expected) > 0.01  # the model does not say the same of everything
    assert model([]) == []


def test_order_and_batches_do_not_matter(tiny: Path) -> None:
    model = EntailmentModel(str(tiny), device="cpu")
    once = model(PAIRS)
    assert model(PAIRS[::-1] * 5) == pytest.approx([*once[::-1]] * 5, abs=1e-5)


def test_a_text_that_is_too_long_is_cut(tiny: Path) -> None:
    model = EntailmentModel(str(tiny), device="cpu")
    (likely,) = model([("the pump " * 100, "it is heavy " * 100)])
    assert 0 <= likely <= 1


def test_what_cannot_be_had_is_said_with_the_remedy(tmp_path: Path) -> None:
    for name, said in (
        ("nobody/nothing", "not on this machine: fetch it with `hf download nobody/nothing`"),
        (str(tmp_path), "put such a model there"),
        (str(tmp_path / "nowhere"), "there is no such folder: name one that is there"),
    ):
        with pytest.raises(ModelError) as error:
            load_entailment(open_entailment(name))
        assert said in str(error.value)
        assert "or unset RAGKIT_NLI_MODEL" in str(error.value)
        assert "\n" not in str(error.value)
    assert open_entailment(None) is None
    load_entailment(None)


def test_the_label_is_read_from_the_configuration() -> None:
    assert entailment_label({0: "entailment", 1: "not_entailment"}, "m") == 0
    with pytest.raises(ModelError, match="LABEL_0, LABEL_1"):
        entailment_label({0: "LABEL_0", 1: "LABEL_1"}, "m")


@pytest.mark.parametrize(
    ("said", "likely", "support"),
    [
        ("The pump weighs 40 kg and a half.", 0.02, "partly"),  # its words alone speak for it
        ("The pump never weighs 40 kg.", 0.02, "not found"),  # a denial in the source's words
        ("This machine is rather heavy.", 0.97, "supported"),  # a paraphrase in others
        ("This machine weighs 50 kg.", 0.97, "partly"),
        ("Bananas are yellow.", 0.02, "not found"),
    ],
)
def test_it_judges_what_words_cannot(said: str, likely: float, support: str) -> None:
    text = "The pump weighs 40 kg."
    hit = Hit(1, 1, "d", "", None, 0, len(text), text, 1.0)

    def entails(pairs: Sequence[tuple[str, str]]) -> list[float]:
        assert pairs == [(text, said)]
        return [likely]

    answer = said.replace(".", " [1].")
    draft = Draft(answer, cite(answer, [hit]))
    (claim,) = verify(draft, {1: text}.__getitem__, [hit], entails=entails).claims
    assert replace(claim, reason="") == Claim(0, len(answer), (1,), support)  # type: ignore[arg-type]
