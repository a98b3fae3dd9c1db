"""A first configuration for each trainer: a beginning to change, with the version it is for.

None of these trainers fits into ragkit's own environment but sentence-transformers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

# Of the packages' metadata in 2026-11; the rows stay readable for others.
VERSIONS: Final[Mapping[str, str]] = {
    "axolotl": "axolotl 0.19.0 (transformers 5.16.1, trl 1.9.0)",
    "llamafactory": "LLaMA-Factory 0.9.5 (transformers up to 5.6, trl up to 0.24)",
    "unsloth": "unsloth 2026.10.9 (transformers up to 5.17, trl up to 1.15)",
    "flagembedding": "FlagEmbedding 1.4.2",
    "sentence-transformers": "sentence-transformers 6.2",
}
_TAGS: Final = {
    "role_tag": "role",
    "content_tag": "content",
    "user_tag": "user",
    "assistant_tag": "assistant",
    "system_tag": "system",
}
_BASE: Final = "BASE  # the model to train: its name or folder"


def header(trainer: str, command: str) -> str:
    """Return the comment that a configuration begins with."""
    return (
        f"# For {VERSIONS[trainer]}, in an environment of its own. A beginning: change it.\n"
        f"# {command}\n"
        "# Then: ragkit tune prove FOLDER --set DATA/test.jsonl\n"
    )


def axolotl(kind: str) -> dict[str, str]:
    """Return axolotl.yaml."""
    text = header("axolotl", "axolotl train axolotl.yaml") + f"base_model: {_BASE}\n"
    if kind == "chat":
        text += (
            "datasets:\n  - path: train.jsonl\n    ds_type: json\n    type: chat_template\n"
            "    field_messages: messages\n    roles_to_train: []\n"
            "    message_field_training: train  # the last message alone\n    train_on_eos: turn\n"
        )
        text += (
            "test_datasets:\n  - path: dev.jsonl\n    ds_type: json\n    split: train\n"
            "    type: chat_template\n    field_messages: messages\n    roles_to_train: []\n"
            "    message_field_training: train\n    train_on_eos: turn\n"
        )
    else:
        text += (
            "rl: dpo\ndatasets:\n  - path: train.jsonl\n    ds_type: json\n    split: train\n"
            "    type: chat_template.default\n    field_messages: messages\n"
            "    field_chosen: chosen\n    field_rejected: rejected\n"
        )
    text += (
        "adapter: lora\nlora_r: 16\nlora_alpha: 32\nlora_target_linear: true\nsequence_len: 2048\n"
        "micro_batch_size: 1\ngradient_accumulation_steps: 16\nnum_epochs: 1\n"
        "learning_rate: 0.0002\nlr_scheduler: cosine\noptimizer: adamw_torch\nbf16: auto\n"
        "gradient_checkpointing: true\noutput_dir: out\n"
    )
    return {"axolotl.yaml": text}


def llamafactory(kind: str) -> dict[str, str]:
    """Return dataset_info.json, which JSON leaves without comments, and llamafactory.yaml."""
    columns = {"messages": "messages"}
    if kind == "preference":
        columns |= {"chosen": "chosen", "rejected": "rejected"}
    elif kind == "completion":
        columns["kto_tag"] = "label"
    ranking = {"ranking": True} if kind == "preference" else {}
    info = {
        f"ragkit_{split}": {
            "file_name": f"{split}.jsonl",
            "formatting": "sharegpt",
            **ranking,
            "columns": columns,
            "tags": _TAGS,
        }
        for split in ("train", "dev")
    }
    stage = {"chat": "sft", "preference": "dpo", "completion": "kto"}[kind]
    text = header("llamafactory", "llamafactory-cli train llamafactory.yaml") + (
        f"model_name_or_path: {_BASE}\ntemplate: TEMPLATE  # of that model\nstage: {stage}\n"
        "do_train: true\ndataset_dir: .\ndataset: ragkit_train\neval_dataset: ragkit_dev\n"
    )
    if kind == "chat":
        text += "mask_history: true  # the last message alone is trained on\n"
    text += (
        "finetuning_type: lora\nlora_rank: 16\nlora_alpha: 32\nlora_target: all\ncutoff_len: 2048\n"
        "per_device_train_batch_size: 1\ngradient_accumulation_steps: 16\nnum_train_epochs: 1.0\n"
        "learning_rate: 2.0e-4\nlr_scheduler_type: cosine\nwarmup_ratio: 0.1\nbf16: true\n"
        "output_dir: out\n"
    )
    return {"dataset_info.json": json.dumps(info, indent=2) + "\n", "llamafactory.yaml": text}


def unsloth(kind: str) -> dict[str, str]:
    """Return train.py, with TRL's trainer for the kind of rows."""
    name = {"chat": "SFT", "preference": "DPO", "completion": "KTO"}[kind]
    text = (
        header("unsloth", "python train.py")
        + f"""from unsloth import FastLanguageModel  # before trl and transformers
from datasets import load_dataset
from trl import {name}Config, {name}Trainer

model, tokenizer = FastLanguageModel.from_pretrained("BASE", max_seq_length=2048, load_in_4bit=True)
model = FastLanguageModel.get_peft_model(model, r=16, lora_alpha=32)
data = load_dataset("json", data_files={{"train": "train.jsonl", "dev": "dev.jsonl"}})
trainer = {name}Trainer(
    model=model,
    processing_class=tokenizer,
    train_dataset=data["train"],
    eval_dataset=data["dev"],
    args={name}Config(
        output_dir="out",
        per_device_train_batch_size=1,
        gradient_accumulation_steps=16,
        num_train_epochs=1,
        learning_rate=2e-4,
        lr_scheduler_type="cosine",
        logging_nan_inf_filter=False,
    ),
)
trainer.train()
model.save_pretrained("out/adapter")
"""
    )
    return {"train.py": text}


def flagembedding(kind: str) -> dict[str, str]:
    """Return train.sh."""
    command = "sh train.sh"
    text = (
        "#!/bin/sh\n"
        + header("flagembedding", command)
        + "torchrun --nproc_per_node 1 -m FlagEmbedding.finetune.embedder.encoder_only.base \\\n"
        "  --model_name_or_path BASE --train_data train.jsonl --train_group_size 8 \\\n"
        "  --query_max_len 256 --passage_max_len 256 --knowledge_distillation False \\\n"
        "  --sentence_pooling_method mean --normalize_embeddings True --temperature 0.05 \\\n"
        "  --per_device_train_batch_size 8 --num_train_epochs 1 --learning_rate 2e-5 \\\n"
        "  --warmup_ratio 0.1 --logging_steps 10 --save_steps 1000 --output_dir out\n"
        "# Pooling as the base has it: cls for BGE, mean for E5 and MiniLM.\n"
        "# With a teacher's scores in the rows: --knowledge_distillation True\n"
    )
    return {"train.sh": text}


def sentence_transformers(kind: str) -> dict[str, str]:
    """Return train.py."""
    text = (
        header("sentence-transformers", "python train.py")
        + """from pathlib import Path

from datasets import load_dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.losses import MultipleNegativesRankingLoss
from sentence_transformers.training_args import BatchSamplers

model = SentenceTransformer("BASE")
names = [name for name in ("triplets", "pairs") if Path(f"train-{name}.jsonl").stat().st_size]
trainer = SentenceTransformerTrainer(
    model=model,
    args=SentenceTransformerTrainingArguments(
        output_dir="out",
        num_train_epochs=1,
        per_device_train_batch_size=32,
        learning_rate=2e-5,
        warmup_ratio=0.1,
        lr_scheduler_type="cosine",
        batch_sampler=BatchSamplers.NO_DUPLICATES,
        logging_nan_inf_filter=False,
    ),
    train_dataset={
        name: load_dataset("json", data_files=f"train-{name}.jsonl", split="train")
        for name in names
    },
    loss=MultipleNegativesRankingLoss(model),
)
trainer.train()
model.save_pretrained("out/model")
"""
    )
    return {"train.py": text}
