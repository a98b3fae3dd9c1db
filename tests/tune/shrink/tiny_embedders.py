"""Tiny embedding models of three kinds of vocabulary: English, Chinese and Russian."""

import json
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import save_file
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from ragkit.embed.neutral import parallel_texts

Kind = Literal["WordPiece", "Unigram", "BPE"]
KINDS: tuple[Kind, ...] = ("WordPiece", "Unigram", "BPE")
_GROUPS = parallel_texts()
ENGLISH, CHINESE = _GROUPS[0][1], _GROUPS[1][1]
RUSSIAN = [
    "Договор заканчивается в последний день месяца, в котором подано уведомление.",
    "Вода в горах кипит при более низкой температуре, потому что давление ниже.",
    "Музей был основан купцом, который оставил городу свою коллекцию и деньги.",
]
_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
_TOKENS = 900


def train_tokenizer(kind: Kind) -> Tokenizer:
    """Train a vocabulary of some 900 tokens on all three languages."""
    trainer: Any
    if kind == "WordPiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=_TOKENS, special_tokens=_SPECIAL)
    elif kind == "Unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=_TOKENS, special_tokens=_SPECIAL, unk_token="<unk>"
        )
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=_TOKENS,
            special_tokens=_SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
    tokenizer.train_from_iterator([*ENGLISH, *CHINESE, *RUSSIAN], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B </s>",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")],
    )
    return tokenizer


def write_embedder(folder: Path, kind: Kind, *, layers: int = 3, width: int = 24) -> Path:
    """Write a sentence-transformers folder of a BERT with random weights."""
    folder.mkdir()
    tokenizer = train_tokenizer(kind)
    tokenizer.save(str(folder / "tokenizer.json"))
    rows = tokenizer.get_vocab_size()
    pipeline = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    files: dict[str, Any] = {
        "config.json": {
            "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu",
            "hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers,
            "num_attention_heads": 4, "layer_norm_eps": 1e-12, "pad_token_id": 1,
            "vocab_size": rows, "max_position_embeddings": 64, "type_vocab_size": 1,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 64,
            "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>",
        },
        "modules.json": [
            {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{name}"}
            for n, (path, name) in enumerate(pipeline.items())
        ],
        "sentence_bert_config.json": {"max_seq_length": 64},
        "1_Pooling/config.json": {
            "word_embedding_dimension": width, "pooling_mode_mean_tokens": True,
        },
        "config_sentence_transformers.json": {
            "prompts": {"query": "query: ", "document": "passage: "}
        },
    }  # fmt: skip
    (folder / "1_Pooling").mkdir()
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    save_file(_weights(rows, layers, width), folder / "model.safetensors", {"format": "pt"})
    return folder


def _weights(rows: int, layers: int, width: int) -> dict[str, torch.Tensor]:
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (rows, width),
        "embeddings.position_embeddings.weight": (64, width),
        "embeddings.token_type_embeddings.weight": (1, width),
        "embeddings.LayerNorm.weight": (width,),
    }
    for number in range(layers):
        layer = f"encoder.layer.{number}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{layer}attention.{part}.weight"] = (width, width)
        shapes[f"{layer}attention.output.LayerNorm.weight"] = (width,)
        shapes[f"{layer}intermediate.dense.weight"] = (2 * width, width)
        shapes[f"{layer}output.dense.weight"] = (width, 2 * width)
        shapes[f"{layer}output.LayerNorm.weight"] = (width,)
    random = torch.Generator().manual_seed(3)
    weights: dict[str, torch.Tensor] = {}
    for name, shape in shapes.items():
        weights[name] = torch.randn(shape, generator=random) / 4 + ("LayerNorm" in name)
        if not name.startswith("embeddings.") or "LayerNorm" in name:
            weights[name.removesuffix("weight") + "bias"] = torch.zeros(shape[0])
    return weights
