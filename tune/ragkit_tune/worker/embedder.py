"""Train an embedding model with sentence-transformers: `python embedder.py job.json`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from checkpoints import Stopping  # type: ignore[import-not-found]
from guard import Guard, with_row_ids  # type: ignore[import-not-found]
from job import Job, Log, StopError, main  # type: ignore[import-not-found]
from retrieval import corpus_of, measure_embedder  # type: ignore[import-not-found]
from training import (  # type: ignore[import-not-found]
    Rows,
    arguments,
    dataset_of,
    finish_training,
    read_pairs,
    row_ids,
    run_within_memory,
    total_steps,
    trainer_class,
)

COMPARED: Final = 10  # vectors that the written model is compared by
CLOSE: Final = 1e-4  # largest difference of a coordinate, of float32 sums in another order
_IN_BATCH: Final = ("mnrl", "cached-mnrl", "gist")  # losses that see a batch whole


def train(job: Job) -> None:
    """Train the job's base on its rows and write the model."""
    rows = read_pairs(job)
    log = Log(job.log, from_step=_step_of(job), is_writer=_is_first())
    log.tell("stage: loading the model")
    batch = min(job.setting("batch"), len(rows.train))
    micro_batch = min(job.setting("micro_batch") or batch, batch)

    def attempt(job: Job, micro_batch: int) -> None:
        _attempt(job, rows, log, batch, micro_batch)

    run_within_memory(job, log, micro_batch, attempt)


def _attempt(job: Job, rows: Rows, log: Log, batch: int, micro_batch: int) -> None:
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.base.training_args import BatchSamplers

    model = load(job.base)
    limit = model.max_seq_length
    model.max_seq_length = min(limit or 512, job.setting("max_tokens"))
    prefixes = {"query": job.prefixes["query"], "document": job.prefixes["passage"]}
    model.prompts = prefixes
    _tell_of_long_rows(model, rows, log)
    if job.setting("parameters") == "lora":
        _add_lora(model, job)
    corpus = corpus_of(rows.dev, rows.train)

    def embed(texts: list[str], kind: str) -> Any:
        return model.encode(
            texts, prompt=job.prefixes[kind], normalize_embeddings=True,
            batch_size=32, show_progress_bar=False,
        )  # fmt: skip

    steps = total_steps(job, len(rows.train))
    every = job.setting("evaluate_every") or max(1, steps // 10)
    stopping = Stopping(
        log,
        lambda _: measure_embedder(embed, rows.dev, corpus),
        name="ndcg@10",
        every=every,
        save_every=job.setting("save_every") or every,
        patience=job.setting("patience"),
        minutes=job.setting("minutes"),
    )
    guard = Guard(log, steps)
    gpus = job.setting("gpus")
    whole = job.setting("loss") in _IN_BATCH
    at_once = batch // gpus if whole else min(micro_batch, batch // gpus)
    accumulation = 1 if whole else max(1, batch // (at_once * gpus))
    columns = {"query": [row["query"] for row in rows.train], "positive": [row["positive"] for row in rows.train]}
    for n in range(len(rows.train[0]["negatives"])):
        columns[f"negative_{n + 1}"] = [row["negatives"][n] for row in rows.train]
    dataset = {**columns, **row_ids(rows.train)}
    if job.setting("loss") in ("margin-mse", "kl"):
        dataset["label"] = _labels(job, rows, model)
    prompts = {name: prefixes["query" if name == "query" else "document"] for name in columns}
    args = SentenceTransformerTrainingArguments(
        **arguments(job, steps, at_once, accumulation),
        batch_sampler=BatchSamplers.NO_DUPLICATES,
        dataloader_drop_last=len(rows.train) >= batch,
        prompts=prompts,
    )
    kind = trainer_class(SentenceTransformerTrainer, job, guard, stopping, log)
    trainer = kind(
        model=model,
        args=args,
        train_dataset=dataset_of(dataset),
        loss=_loss(job, model, micro_batch, gpus),
        callbacks=[stopping, guard],
    )
    trainer.data_collator = _Collator(trainer.data_collator)
    if not job.resume:
        log.write(step=0, dev=measure_embedder(embed, rows.dev, corpus), seconds=0.0)
    finish_training(trainer, job, stopping, log)
    if _is_first():
        _write(job, model, rows, limit, log)


class _Collator:
    """The trainer's collator without the row ids, with its attributes."""

    def __init__(self, collator: Any) -> None:
        self._collator = collator
        self._collate = with_row_ids(collator)

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        batch: dict[str, Any] = self._collate(features)
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collator, name)


def load(folder: str) -> Any:
    """Load a folder in float32, without network, remote code or pickled weights."""
    import torch
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(
        folder,
        device="cuda" if torch.cuda.is_available() else "cpu",
        trust_remote_code=False,
        local_files_only=True,
        model_kwargs={"use_safetensors": True, "dtype": "float32"},
    )


def _loss(job: Job, model: Any, micro_batch: int, gpus: int) -> Any:
    """Make the loss; one over whole batches computes as many rows at once as fit."""
    from sentence_transformers.sentence_transformer import losses

    name, scale = job.setting("loss"), job.setting("scale")
    batch = job.setting("batch") // gpus
    gather = gpus > 1
    loss: Any
    if name == "gist":
        guide = load(job.teacher)
        loss = losses.CachedGISTEmbedLoss(
            model, guide, temperature=1 / scale, mini_batch_size=micro_batch,
            gather_across_devices=gather,
        )  # fmt: skip
    elif name == "margin-mse":
        loss = losses.MarginMSELoss(model)
    elif name == "kl":
        loss = losses.DistillKLDivLoss(model, temperature=1 / scale)
    elif name == "cached-mnrl" or micro_batch < batch:
        loss = losses.CachedMultipleNegativesRankingLoss(
            model, scale=scale, mini_batch_size=micro_batch, gather_across_devices=gather
        )
    else:
        loss = losses.MultipleNegativesRankingLoss(
            model, scale=scale, gather_across_devices=gather
        )
    dimensions = list(job.setting("matryoshka"))
    if dimensions:
        whole = model.get_sentence_embedding_dimension()
        if max(dimensions) > whole:
            raise StopError(
                f"matryoshka {max(dimensions)} is more than the model's dimension {whole}: lower it"
            )
        loss = losses.MatryoshkaLoss(model, loss, sorted({whole, *dimensions}, reverse=True))
    return loss


def _labels(job: Job, rows: Rows, model: Any) -> list[list[float]]:
    """Return a teacher's scores of each row: the rows' own, or by the teacher's vectors."""
    if all(row["scores"] for row in rows.train):
        scores = [row["scores"] for row in rows.train]
    elif job.teacher:
        scores = _teach(load(job.teacher), rows)
    else:
        raise StopError(
            f"loss {job.setting('loss')} needs a teacher's scores in the rows, or a teacher: set"
            " teacher in the recipe, or choose mnrl"
        )
    if job.setting("loss") == "kl":
        return scores
    return [[score[0] - other for other in score[1:]] for score in scores]


def _teach(teacher: Any, rows: Rows) -> list[list[float]]:
    scores = []
    for row in rows.train:
        query = teacher.encode([row["query"]], prompt_name=_named(teacher, "query"), normalize_embeddings=True)
        texts = [row["positive"], *row["negatives"]]
        passages = teacher.encode(texts, prompt_name=_named(teacher, "document"), normalize_embeddings=True)
        scores.append([float(value) for value in passages @ query[0]])
    return scores


def _named(model: Any, name: str) -> str | None:
    return name if (model.prompts or {}).get(name) else None


def _add_lora(model: Any, job: Job) -> None:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        task_type="FEATURE_EXTRACTION",
        r=job.setting("rank"),
        lora_alpha=job.setting("alpha"),
        target_modules="all-linear",
    )
    model[0].model = get_peft_model(model[0].model, config)


def _tell_of_long_rows(model: Any, rows: Rows, log: Log) -> None:
    """Say how many passages are cut: they are trained on without their end."""
    limit = model.max_seq_length
    tokenizer = model.tokenizer
    long_rows = [
        row["id"]
        for row in rows.train
        if len(row["positive"]) > limit  # a token has a character at least
        and len(tokenizer(row["positive"], truncation=False)["input_ids"]) > limit
    ]
    if long_rows:
        log.write(step=0, event=f"{len(long_rows)} passages are cut at {limit} tokens")
        log.tell(
            f"stage: {len(long_rows)} of {len(rows.train)} passages are cut at {limit} tokens,"
            f" such as that of row {long_rows[0]}"
        )


def _write(job: Job, model: Any, rows: Rows, limit: int, log: Log) -> None:
    """Write the model whole, and compare it with the one in memory, loaded by a new process."""
    log.tell("stage: writing the model")
    if job.setting("parameters") == "lora":
        model[0].model = model[0].model.merge_and_unload()
    model.max_seq_length = limit
    written = Path(f"{job.model}.writing")
    shutil.rmtree(written, ignore_errors=True)
    model.save_pretrained(str(written), create_model_card=False)
    texts = [row["positive"] for row in rows.dev][:COMPARED]
    vectors = model.encode(texts, prompt=job.prefixes["passage"], normalize_embeddings=True)
    compare = Path(job.log).with_name("vectors.json")
    compare.write_text(json.dumps({"texts": texts, "vectors": vectors.tolist()}), "utf-8")
    script = Path(__file__).with_name("reload.py")
    done = subprocess.run(
        [sys.executable, str(script), str(written), str(compare), str(CLOSE)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason"]
        raise StopError(
            f"the written model is not the trained one ({lines[-1].strip()[:200]}): the checkpoints"
            " stay; report this base model"
        )
    written.rename(job.model)


def _step_of(job: Job) -> int:
    return int(Path(job.resume).name.rpartition("-")[2]) if job.resume else 0


def _is_first() -> bool:
    from os import environ

    return environ.get("RANK", "0") == "0"


if __name__ == "__main__":
    sys.exit(main(train))
