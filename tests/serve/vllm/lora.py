"""A LoRA adapter written by hand, without peft: random, and strong enough to change the answers."""

import json
from pathlib import Path

_RANK = 4


def make_lora(folder: Path, base: Path) -> None:
    """Write an adapter for the query and value projections of a Llama's folder."""
    import torch
    from safetensors.torch import save_file

    config = json.loads((base / "config.json").read_text())
    hidden, head = config["hidden_size"], config["head_dim"]
    outputs = {
        "q_proj": config["num_attention_heads"] * head,
        "v_proj": config["num_key_value_heads"] * head,
    }
    random = torch.Generator().manual_seed(0)
    tensors = {}
    for layer in range(config["num_hidden_layers"]):
        for name, rows in outputs.items():
            at = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            tensors[f"{at}.lora_A.weight"] = torch.randn(_RANK, hidden, generator=random)
            tensors[f"{at}.lora_B.weight"] = torch.randn(rows, _RANK, generator=random)
    folder.mkdir()
    save_file(tensors, folder / "adapter_model.safetensors")
    described = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": str(base),
        "r": _RANK,
        "lora_alpha": _RANK,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": sorted(outputs),
    }
    (folder / "adapter_config.json").write_text(json.dumps(described))
