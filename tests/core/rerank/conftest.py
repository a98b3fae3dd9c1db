"""Rerankers small enough to be made on the spot: networks at random, a tokenizer of few words."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragkit.embed import precision
from ragkit.testing.conformance.reranker import PASSAGES, QUERY

ZH_QUERY = "国内航班坐什么舱？"
TEXTS = (
    *PASSAGES,
    "Employees have 28 days of leave in a year.",
    "员工每年有二十八天年假，国内航班一律乘坐经济舱。",
    "a [SEP] b",
)
MAX_TOKENS = 48

Make = Callable[..., Path]


def words() -> list[str]:
    """List a vocabulary: characters alone and inside words, and the words of the texts."""
    text = " ".join((QUERY, ZH_QUERY, *TEXTS)).lower()
    letters = sorted(set(text) - {" "})
    inner = [f"##{letter}" for letter in letters if letter.isascii()]
    whole = sorted({word.strip(".,;?") for word in text.split() if word.isascii()} - set(letters))
    return [*letters, *inner, *(word for word in whole if word)]


def save_tokenizer(folder: Path, *, roberta: bool = False, special: Sequence[str] = ()) -> int:
    """Write a WordPiece tokenizer with BERT's or RoBERTa's markers; return its size."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    # RoBERTa's padding has the id 1, from which its positions are counted.
    cls, pad, sep, unk, mask = (
        ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
        if roberta
        else ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")
    )
    first = [cls, pad] if roberta else [pad, cls]
    listed = [*first, sep, unk, mask, *special, *words()]
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(listed))}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=unk))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    pair = f"{cls} $A {sep} {sep} $B {sep}" if roberta else f"{cls} $A {sep} $B:1 {sep}:1"
    tokenizer.post_processor = TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=pair,
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )
    types = [] if roberta else ["token_type_ids"]
    wrap: Any = PreTrainedTokenizerFast  # unannotated
    wrap(
        tokenizer_object=tokenizer,
        model_max_length=MAX_TOKENS,
        unk_token=unk,
        pad_token=pad,
        cls_token=cls,
        sep_token=sep,
        mask_token=mask,
        model_input_names=["input_ids", *types, "attention_mask"],
    ).save_pretrained(folder)
    return len(vocabulary)


def network(kind: str, folder: Path, size: int, activation: str | None, **options: Any) -> Any:
    """Return an untrained classifier, its weights wide enough for scores to differ."""
    import torch
    import transformers

    torch.manual_seed(11)
    options = {"num_labels": 1, **options}
    if kind == "DistilBert":
        shape = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
    else:
        shape = {
            "hidden_size": 32,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "intermediate_size": 64,
        }
    roberta = kind == "XLMRoberta"
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=size,
        max_position_embeddings=MAX_TOKENS + 2 * roberta,
        initializer_range=0.2,
        **({"type_vocab_size": 1} if roberta else {}),
        **{**shape, **options},
    )
    if activation is not None:
        config.sentence_transformers = {"activation_fn": activation}
    return getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Make a cross-encoder's folder of an architecture and an activation."""

    def made(kind: str = "Bert", activation: str | None = None, **options: Any) -> Path:
        folder = tmp_path_factory.mktemp("cross") / "tiny"
        size = save_tokenizer(folder, roberta=kind == "XLMRoberta")
        network(kind, folder, size, activation, **options).save_pretrained(folder)
        return folder

    return made


@pytest.fixture
def float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processor be one without half precision."""
    monkeypatch.setattr(precision, "cpu_precision", lambda: "float32")


@pytest.fixture
def bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processor be one with half precision, which any can emulate."""
    monkeypatch.setattr(precision, "cpu_precision", lambda: "bfloat16")
