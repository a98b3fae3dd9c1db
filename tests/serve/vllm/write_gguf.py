"""Writes a tiny Llama as a GGUF file; run by the environment that has llama.cpp's gguf package.

`python write_gguf.py FOLDER OUT.gguf`: FOLDER holds config.json, tokenizer.json, a chat template
and the weights as weights.npz, under the names that transformers gives them.
"""

import json
import sys
from pathlib import Path
from typing import Any

_LAYER = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_TOP = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def main(folder: Path, out: Path) -> None:
    import gguf
    import numpy as np

    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(out, "llama")
    _describe(writer, config, (folder / "chat_template.jinja").read_text())
    _vocabulary(writer, gguf, json.loads((folder / "tokenizer.json").read_text()))
    with np.load(folder / "weights.npz") as weights:
        for name in weights.files:
            heads = {
                "q_proj": config["num_attention_heads"],
                "k_proj": config["num_key_value_heads"],
            }.get(name.split(".")[-2])
            tensor = weights[name]
            writer.add_tensor(_renamed(name), _interleaved(tensor, heads) if heads else tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: Any, config: dict[str, Any], template: str) -> None:
    writer.add_name("tiny")
    writer.add_file_type(0)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_chat_template(template)


def _vocabulary(writer: Any, gguf: Any, tokenizer: dict[str, Any]) -> None:
    special = {token["id"] for token in tokenizer["added_tokens"]}
    ids = {**tokenizer["model"]["vocab"]}
    ids.update({token["content"]: token["id"] for token in tokenizer["added_tokens"]})
    tokens = sorted(ids, key=lambda token: ids[token])
    kinds = [
        gguf.TokenType.CONTROL if ids[token] in special else gguf.TokenType.NORMAL
        for token in tokens
    ]
    merges = tokenizer["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([one if isinstance(one, str) else " ".join(one) for one in merges])
    writer.add_bos_token_id(ids["<s>"])
    writer.add_eos_token_id(ids["</s>"])
    writer.add_add_bos_token(False)  # the chat template writes it


def _renamed(name: str) -> str:
    if name in _TOP:
        return _TOP[name]
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{_LAYER[rest.removesuffix('.weight')]}.weight"


def _interleaved(tensor: Any, heads: int) -> Any:
    """Reorder rows for llama.cpp, which rotates neighbouring pairs and not halves."""
    rows, columns = tensor.shape
    halves = tensor.reshape(heads, 2, rows // heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns).copy()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
