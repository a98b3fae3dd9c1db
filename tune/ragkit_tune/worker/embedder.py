"""Train an embedding model with sentence-transformers: `python embedder.py job.json`."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, Final

from batches import batches_of_run  # type: ignore[import-not-found]  # beside this script
from guard import ROW  # type: ignore[import-not-found]
from job import Job, Log, StopError, main  # type: ignore[import-not-found]
from model_write import COMPARED, write_model  # type: ignore[import-not-found]
from pair_batches import SEES_BATCH, different_rows  # type: ignore[import-not-found]
from retrieval import corpus_of, measure_embedder  # type: ignore[import-not-found]
from row_checks import check_lengths  # type: ignore[import-not-found]
from training import (  # type: ignore[import-not-found]
    Rows,
    add_lora,
    arguments,
    as_loaded,
    dataset_of,
    divisor,
    finish_training,
    is_first,
    make_trainer,
    open_log,
    read_pairs,
    row_ids,
    run_within_memory,
    total_steps,
    trainer_class,
    whole_batch,
)

_SHOWN_CHARS: Final = 300  # of each text of the first row, in the log


def train(job: Job) -> None:
    """Train the job's base on its rows and write the model."""
    rows = read_pairs(job, draws=job.setting("loss") not in SEES_BATCH)
    log = open_log(job)
    log.tell("stage: loading the model")
    batch = _batch(job, rows, log)

    def attempt(job: Job, micro_batch: int) -> None:
        _attempt(job, rows, log, batch, micro_batch)

    run_within_memory(job, log, batch, attempt)


def _batch(job: Job, rows: Rows, log: Log) -> int:
    """Return the rows of a step; fewer than set where the rows have too few different passages."""
    batch = whole_batch(job, len(rows.train))
    if job.setting("loss") not in SEES_BATCH:
        return int(batch)
    different = whole_batch(job, different_rows(rows.train, batch))
    if different == 1 < len(rows.train):
        raise StopError(
            "the rows have too few different passages to fill a batch of two: make rows of more"
            " documents, or set -o negatives=0"
        )
    if different < batch:
        log.note(
            f"batches of {different} rows: the rows have too few different passages for {batch}"
        )
    return int(min(batch, different))


def _attempt(job: Job, rows: Rows, log: Log, batch: int, micro_batch: int) -> None:
    from sentence_transformers import SentenceTransformerTrainer

    model, limit = _make_model(job)
    _check_lengths(model, limit, rows, log)
    corpus = corpus_of(rows.dev, rows.train)

    def measure(_: Any) -> dict[str, float]:
        embed = partial(encode, model)
        return measure_embedder(embed, rows.dev, corpus)  # type: ignore[no-any-return]

    steps = total_steps(job, len(rows.train), batch)
    gpus = job.setting("gpus")
    is_in_batch = job.setting("loss") in SEES_BATCH
    at_once = batch // gpus if is_in_batch else divisor(batch // gpus, micro_batch)
    accumulation = batch // gpus // at_once
    separated = rows.train if is_in_batch else ()
    make_batches = batches_of_run(steps * accumulation, gpus, separated)
    trainer = make_trainer(
        trainer_class(SentenceTransformerTrainer, make_batches),
        job,
        log,
        steps,
        measure,
        model=model,
        args=_arguments(job, rows, steps, at_once, accumulation),
        train_dataset=dataset_of(_columns(job, rows)),
        loss=_loss(job, model, micro_batch, gpus),
    )
    finish_training(trainer, lambda: _make_model(job)[0])
    if is_first():
        _write(job, as_loaded(trainer), rows, limit, log)


def _make_model(job: Job) -> tuple[Any, int]:
    """Load the base with what is trained of it; return it and the length that it had."""
    import torch

    torch.manual_seed(job.setting("seed"))  # a pooler that the base lacks begins at random
    model = load(job.base)
    limit = model.max_seq_length
    model.max_seq_length = min(limit or 512, job.setting("max_tokens"))
    model.prompts = {"query": job.prefixes["query"], "document": job.prefixes["passage"]}
    if job.setting("parameters") == "lora":
        add_lora(model, job, "FEATURE_EXTRACTION")
    for name, weight in model.named_parameters():
        if ".pooler." in name:  # sentence vectors are pooled without it
            weight.requires_grad_(False)
    return model, limit


def _arguments(job: Job, rows: Rows, steps: int, at_once: int, accumulation: int) -> Any:
    from sentence_transformers import SentenceTransformerTrainingArguments

    names = [name for name in _columns(job, rows, labels=False) if name != ROW]
    kinds = {name: "query" if name == "query" else "passage" for name in names}
    return SentenceTransformerTrainingArguments(
        **arguments(job, steps, at_once, accumulation),
        dataloader_drop_last=len(rows.train) >= at_once * job.setting("gpus"),
        prompts={name: job.prefixes[kind] for name, kind in kinds.items()},
    )


def _columns(job: Job, rows: Rows, *, labels: bool = True) -> dict[str, Any]:
    """Return the columns that the loss wants, and that of the row ids."""
    train = rows.train
    columns: dict[str, Any] = {name: [row[name] for row in train] for name in ("query", "positive")}
    for n in range(len(train[0]["negatives"])):
        columns[f"negative_{n + 1}"] = [row["negatives"][n] for row in train]
    if labels and job.setting("loss") in ("margin-mse", "kl"):
        columns["label"] = _labels(job, rows)
    return {**columns, **row_ids(train)}


def encode(model: Any, texts: list[str], kind: str) -> Any:
    """Return unit vectors of queries or passages, with the prefix that the model has for them."""
    prompt = model.prompts["query" if kind == "query" else "document"]
    return model.encode(
        texts, prompt=prompt, normalize_embeddings=True, batch_size=32, show_progress_bar=False
    )


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
        loss = losses.MultipleNegativesRankingLoss(model, scale=scale, gather_across_devices=gather)
    dimensions = list(job.setting("matryoshka"))
    if dimensions:
        size = model.get_embedding_dimension()
        if max(dimensions) > size:
            raise StopError(
                f"matryoshka {max(dimensions)} is more than the model's dimension {size}: set"
                " smaller ones"
            )
        loss = losses.MatryoshkaLoss(model, loss, sorted({size, *dimensions}, reverse=True))
    return loss


def _labels(job: Job, rows: Rows) -> list[list[float]]:
    """Return a teacher's scores of each row: the rows' own, or by the teacher's vectors."""
    if all(row["scores"] for row in rows.train):
        scores = [row["scores"] for row in rows.train]
    elif job.teacher:
        scores = _teach(load(job.teacher), rows)
    else:
        raise StopError(
            f"loss {job.setting('loss')} needs a teacher's scores in the rows, or a teacher: set"
            " -o teacher=FOLDER, or -o loss=mnrl"
        )
    if job.setting("loss") == "kl":
        return scores
    return [[score[0] - other for other in score[1:]] for score in scores]


def _teach(teacher: Any, rows: Rows) -> list[list[float]]:
    scores = []
    for row in rows.train:
        query = teacher.encode(
            [row["query"]], prompt_name=_named(teacher, "query"), normalize_embeddings=True
        )
        texts = [row["positive"], *row["negatives"]]
        passages = teacher.encode(
            texts, prompt_name=_named(teacher, "document"), normalize_embeddings=True
        )
        scores.append([float(value) for value in passages @ query[0]])
    return scores


def _named(model: Any, name: str) -> str | None:
    return name if (model.prompts or {}).get(name) else None


def _check_lengths(model: Any, own: int | None, rows: Rows, log: Log) -> None:
    """Show what is trained of the first row; name the rows that are cut, or refuse them."""
    tokenizer, limit = model.tokenizer, model.max_seq_length
    query, passage = model.prompts["query"], model.prompts["document"]

    def count(row: dict[str, Any]) -> int:
        texts = (query + row["query"], passage + row["positive"])
        # A token has a character at least, and two are special.
        long_texts = [text for text in texts if len(text) + 2 > limit]
        return max((len(tokenizer(text, truncation=False)["input_ids"]) for text in long_texts),
                   default=0)  # fmt: skip

    check_lengths(rows.train, count, limit, log.note, own=own or limit)
    texts = (query + rows.train[0]["query"], passage + rows.train[0]["positive"])
    cut = tokenizer(list(texts), truncation=True, max_length=limit)["input_ids"]
    decoded = [tokenizer.decode(ids)[:_SHOWN_CHARS] for ids in cut]
    log.write(step=0, event="first row", row=str(rows.train[0]["id"]), texts=decoded)


def _write(job: Job, model: Any, rows: Rows, limit: int, log: Log) -> None:
    """Write the model whole, with LoRA's weights merged and the base's length."""
    if job.setting("parameters") == "lora":
        model[0].model = model[0].model.merge_and_unload()
    model.max_seq_length = limit
    half = COMPARED // 2
    queries = [row["query"] for row in rows.dev][:half]
    passages = [row["positive"] for row in rows.dev][: COMPARED - half]
    vectors = [*encode(model, queries, "query"), *encode(model, passages, "passage")]
    write_model(
        job,
        log,
        lambda folder: model.save_pretrained(folder, create_model_card=False),
        {"queries": queries, "passages": passages, "vectors": [v.tolist() for v in vectors]},
    )


if __name__ == "__main__":
    sys.exit(main(train))
