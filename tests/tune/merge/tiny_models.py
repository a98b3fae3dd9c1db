"""Tiny checkpoints whose weights are sines: the same numbers on any machine, without a seed."""

import json
import math
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

WORDS = ["<unk>", "<s>", "</s>", "a", "b", "c", "d", "e"]
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2, "num_hidden_layers": 2,
    "num_key_value_heads": 2, "head_dim": 4, "vocab_size": 8, "rms_norm_eps": 1e-6,
    "max_position_embeddings": 16, "tie_word_embeddings": False, "torch_dtype": "float32",
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
BERT: dict[str, Any] = {
    "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": 8,
    "intermediate_size": 12, "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 8,
    "max_position_embeddings": 16, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
    "pad_token_id": 0, "torch_dtype": "float32",
}  # fmt: skip


def sines(shape: tuple[int, ...], phase: float) -> torch.Tensor:
    """Return a tensor of sines, computed in float64 and rounded once."""
    count = math.prod(shape)
    values = [math.sin(0.7 * place + phase) for place in range(count)]
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


def llama_shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "lm_head.weight": (8, 8), "model.embed_tokens.weight": (8, 8), "model.norm.weight": (8,)
    }  # fmt: skip
    for layer in range(2):
        name = f"model.layers.{layer}."
        shapes |= {f"{name}self_attn.{part}_proj.weight": (8, 8) for part in "qkvo"}
        shapes |= {f"{name}mlp.{part}_proj.weight": (12, 8) for part in ("gate", "up")}
        shapes[f"{name}mlp.down_proj.weight"] = (8, 12)
        shapes |= {f"{name}{norm}_layernorm.weight": (8,) for norm in ("input", "post_attention")}
    return shapes


def bert_shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (8, 8),
        "embeddings.position_embeddings.weight": (16, 8),
        "embeddings.token_type_embeddings.weight": (2, 8),
        "pooler.dense.weight": (8, 8),
        "pooler.dense.bias": (8,),
    }
    layer = "encoder.layer.0."
    parts = [f"{layer}attention.self.{part}" for part in ("query", "key", "value")]
    for part in [*parts, f"{layer}attention.output.dense"]:
        shapes |= {f"{part}.weight": (8, 8), f"{part}.bias": (8,)}
    shapes |= {f"{layer}intermediate.dense.weight": (12, 8), f"{layer}output.dense.weight": (8, 12)}
    shapes |= {f"{layer}intermediate.dense.bias": (12,), f"{layer}output.dense.bias": (8,)}
    for norm in ("embeddings", f"{layer}attention.output", f"{layer}output"):
        shapes |= {f"{norm}.LayerNorm.{kind}": (8,) for kind in ("weight", "bias")}
    return shapes


def write_checkpoint(
    folder: Path,
    phase: float,
    *,
    bert: bool = False,
    shards: int = 1,
    dtype: torch.dtype = torch.float32,
) -> Path:
    """Write a checkpoint with a tokenizer of eight words; `phase` makes models differ."""
    folder.mkdir(parents=True)
    shapes = bert_shapes() if bert else llama_shapes()
    tensors = {
        name: sines(shape, phase * (1 + number % 3) + number).to(dtype)
        for number, (name, shape) in enumerate(sorted(shapes.items()))
    }
    _save(folder, tensors, shards)
    (folder / "config.json").write_text(json.dumps(BERT if bert else LLAMA), "utf-8")
    write_tokenizer(folder)
    return folder


def write_tokenizer(folder: Path, words: list[str] = WORDS) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")


def _save(folder: Path, tensors: dict[str, torch.Tensor], shards: int) -> None:
    if shards == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return
    places: dict[str, str] = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = dict(sorted(tensors.items())[shard::shards])
        save_file(part, folder / file, metadata={"format": "pt"})
        places |= dict.fromkeys(part, file)
    size = sum(tensor.nbytes for tensor in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
