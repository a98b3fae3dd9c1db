"""Real embedding models made on the spot: a BERT of one layer with random weights, as a folder."""

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

from ragkit.embed.find import find_model

VOCABULARY = 30522  # of the tokenizer, which is the packaged model's


def write_model(
    folder: Path, *, seed: int, dimension: int = 32, max_tokens: int = 128, prefix: str = ""
) -> Path:
    """Write a sentence-transformers folder; `prefix` is put before its queries."""
    folder.mkdir()
    shutil.copy(find_model("all-MiniLM-L6-v2").folder / "tokenizer.json", folder)
    config = {
        "model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": 1,
        "num_attention_heads": 4, "layer_norm_eps": 1e-12, "hidden_size": dimension,
        "pad_token_id": 0, "vocab_size": VOCABULARY, "max_position_embeddings": 512,
    }  # fmt: skip
    kinds = ["Transformer", "Pooling", "Normalize"]
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(zip(["", "1_Pooling", "2"], kinds, strict=True))
    ]
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": dimension, "pooling_mode_mean_tokens": True}
    for name, content in (
        ("config.json", config),
        ("modules.json", modules),
        ("sentence_bert_config.json", {"max_seq_length": max_tokens}),
        ("1_Pooling/config.json", pooling),
        ("config_sentence_transformers.json", {"prompts": {"query": prefix}}),
    ):
        (folder / name).write_text(json.dumps(content), "utf-8")
    save_file(_weights(seed, dimension), folder / "model.safetensors")
    return folder


def _weights(seed: int, n: int) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (VOCABULARY, n),
        "embeddings.position_embeddings.weight": (512, n),
        "embeddings.token_type_embeddings.weight": (2, n),
    }
    layer = "encoder.layer.0."
    for part in ("self.query", "self.key", "self.value", "output.dense"):
        shapes[f"{layer}attention.{part}.weight"] = (n, n)
    shapes |= {f"{layer}intermediate.dense.weight": (2 * n, n)}
    shapes |= {f"{layer}output.dense.weight": (n, 2 * n)}
    made = {name: torch.randn(shape, generator=random) / 4 for name, shape in shapes.items()}
    made["embeddings.position_embeddings.weight"] /= 8  # words count for more than places
    for name, shape in shapes.items():
        if name.startswith(layer):
            made[name.removesuffix("weight") + "bias"] = torch.zeros(shape[0])
    for norm in ("embeddings", f"{layer}attention.output", f"{layer}output"):
        made[f"{norm}.LayerNorm.weight"] = torch.ones(n)
        made[f"{norm}.LayerNorm.bias"] = torch.zeros(n)
    return made
