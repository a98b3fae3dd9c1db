"""Tiny models, rows and jobs for the workers' tests: two layers, an invented vocabulary."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragkit_tune.recipe import make_recipe
from tests.places import ROOT

WORKERS = ROOT / "tune/ragkit_tune/worker"
SUBJECTS = 40
WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "su", "te") for b in ("ran", "fil", "dop", "wex")]


def write_encoder(
    folder: Path, *, layers: int = 2, seed: int = 0, words: int = 2 * SUBJECTS
) -> Path:
    """Write a BERT of random weights, and a tokenizer with a token for each word."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    names += [f"ask{n}" for n in range(words)] + [f"say{n}" for n in range(words)]
    vocabulary = {name: n for n, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    fast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=64,
    )  # fmt: skip
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(names), hidden_size=32, num_hidden_layers=layers, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64, initializer_range=0.1,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def pair_rows(
    count: int, *, seed: int = 0, subjects: range = range(SUBJECTS)
) -> list[dict[str, Any]]:
    """Make rows: the question about `ask7` is answered where `say7` stands; no word is shared."""
    draw = random.Random(seed)
    half = WORDS[:10] if seed % 2 == 0 else WORDS[10:]  # train and dev share no query
    rows: list[dict[str, Any]] = []
    for n in range(count):
        subject = subjects[n % len(subjects)]
        query = f"{' '.join(draw.sample(half, 2))} ask{subject}"
        positive = f"{' '.join(draw.sample(WORDS, 2))} say{subject}"
        rows.append({
            "id": f"r{seed}-{n}", "query": query, "positive": positive, "negatives": [],
            "document": f"{subject}.md", "start": 0, "end": len(positive), "how": "headings",
            "language": "en", "group": f"g{subject}",
        })  # fmt: skip
    return rows


def write_lines(path: Path, rows: list[dict[str, Any]]) -> str:
    """Write JSON lines and return the file's sha256."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_job(
    folder: Path,
    base: Path,
    train: list[dict[str, Any]],
    dev: list[dict[str, Any]],
    *,
    kind: str = "embedder",
    resume: str = "",
    teacher: str = "",
    **settings: Any,
) -> Path:
    """Write rows and a job of a short run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "checkpoints").mkdir(exist_ok=True)
    hashes = {
        name: write_lines(folder / f"{name}.jsonl", rows)
        for name, rows in (("train", train), ("dev", dev))
    }
    short = {"batch": 16, "learning_rate": 3e-3, "max_tokens": 32, "steps": 12, "evaluate_every": 4}
    recipe = make_recipe(
        {"kind": kind, "base": str(base), "data": str(folder), **short, **settings}
    )
    job = {
        "kind": kind, "base": str(base), "train": str(folder / "train.jsonl"),
        "dev": str(folder / "dev.jsonl"), "model": str(folder / "model"),
        "checkpoints": str(folder / "checkpoints"), "log": str(folder / "steps.jsonl"),
        "recipe": recipe.as_json(), "recipe_hash": recipe.hash, "data_hash": hashes["train"],
        "train_hash": hashes["train"], "dev_hash": hashes["dev"],
        "prefixes": {"query": "", "passage": ""}, "teacher": teacher, "resume": resume,
    }  # fmt: skip
    path = folder / "job.json"
    path.write_text(json.dumps(job), "utf-8")
    return path


def run(
    job: Path, script: str = "embedder.py", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a worker to its end, on one thread."""
    quiet = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    return subprocess.run(
        [sys.executable, str(WORKERS / script), str(job)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **quiet, **environment},
    )


def logged(folder: Path) -> list[dict[str, Any]]:
    """Read a run's log."""
    return [json.loads(line) for line in (folder / "steps.jsonl").read_text("utf-8").splitlines()]


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a size, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
