"""Small architectures for the tests of plans."""

from __future__ import annotations

from typing import Any


def bert(layers: int, hidden: int, vocabulary: int, dropout: float = 0.1) -> dict[str, Any]:
    return {
        "model_type": "bert",
        "hidden_size": hidden,
        "intermediate_size": 4 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": hidden // 64,
        "vocab_size": vocabulary,
        "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": dropout,
    }


def llama(
    layers: int, hidden: int, vocabulary: int, kv: int | None = None, kind: str = "llama"
) -> dict[str, Any]:
    return {
        "model_type": kind,
        "hidden_size": hidden,
        "intermediate_size": 8 * hidden // 3 // 64 * 64,
        "num_hidden_layers": layers,
        "num_attention_heads": hidden // 64,
        "num_key_value_heads": kv or hidden // 64,
        "head_dim": 64,
        "vocab_size": vocabulary,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }


def gpt2(layers: int, hidden: int, heads: int, vocabulary: int = 50257) -> dict[str, Any]:
    return {
        "model_type": "gpt2",
        "n_embd": hidden,
        "n_head": heads,
        "n_layer": layers,
        "vocab_size": vocabulary,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
