"""Train a reranker, a cross-encoder, with sentence-transformers: `python reranker.py job.json`."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

from batches import batches_of_run  # type: ignore[import-not-found]  # beside this script
from guard import Guard  # type: ignore[import-not-found]
from job import Job, Log, StopError, main  # type: ignore[import-not-found]
from model_write import COMPARED, write_model  # type: ignore[import-not-found]
from pair_batches import with_negatives  # type: ignore[import-not-found]
from retrieval import measure_reranker  # type: ignore[import-not-found]
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

DEV_NEGATIVES: Final = 9  # with the positive ten passages, as deep as the measure looks


def train(job: Job) -> None:
    """Train the job's base on its rows and write the model."""
    rows = read_pairs(job, draws=True)
    if not rows.train[0]["negatives"]:
        raise StopError(
            "rows without negatives teach a reranker nothing: make them with `ragkit tune data`,"
            " or set -o negatives=3"
        )
    dev = with_negatives(rows.dev, DEV_NEGATIVES, job.setting("seed"))
    log = open_log(job)
    log.tell("stage: loading the model")
    batch = whole_batch(job, len(rows.train))

    def attempt(job: Job, micro_batch: int) -> None:
        _attempt(job, Rows(rows.train, dev), log, batch, micro_batch)

    run_within_memory(job, log, batch, attempt)


def _attempt(job: Job, rows: Rows, log: Log, batch: int, micro_batch: int) -> None:
    from sentence_transformers.cross_encoder import (
        CrossEncoderTrainer,
        CrossEncoderTrainingArguments,
    )

    model, limit = _make_model(job)
    _check_lengths(model, limit, rows, log)

    def measure(_: Any) -> dict[str, float]:
        score = partial(predict, model)
        return measure_reranker(score, rows.dev)  # type: ignore[no-any-return]

    steps = total_steps(job, len(rows.train))
    gpus = job.setting("gpus")
    at_once = divisor(batch // gpus, micro_batch)
    accumulation = batch // gpus // at_once
    pairs = 1 + len(rows.train[0]["negatives"]) if job.setting("loss") == "bce" else 1
    args = CrossEncoderTrainingArguments(
        **arguments(job, steps, at_once * pairs, accumulation),
        dataloader_drop_last=len(rows.train) >= at_once * gpus,
    )
    make_batches = batches_of_run(steps * accumulation, gpus)
    trainer = make_trainer(
        trainer_class(CrossEncoderTrainer, make_batches),
        job,
        log,
        steps,
        measure,
        model=model,
        args=args,
        train_dataset=dataset_of(_columns(job, rows)),
        loss=_loss(job, model),
    )
    model[0].register_forward_pre_hook(partial(_count_tokens, trainer.guard))
    finish_training(trainer, lambda: _make_model(job)[0])
    if is_first():
        _write(job, as_loaded(trainer), rows, limit, log)


def _make_model(job: Job) -> tuple[Any, int]:
    """Load the base with what is trained of it; return it and the length that it had."""
    model = load(job.base, seed=job.setting("seed"))
    limit = model.max_seq_length
    model.max_seq_length = min(limit or 512, job.setting("max_tokens"))
    if job.setting("parameters") == "lora":
        add_lora(model, job, "SEQ_CLS")  # which trains the head whole
    return model, limit


def _check_lengths(model: Any, own: int | None, rows: Rows, log: Log) -> None:
    """Name the rows whose query and passage are cut, or refuse them."""
    tokenizer, limit = model.tokenizer, model.max_seq_length

    def count(row: dict[str, Any]) -> int:
        if len(row["query"]) + len(row["positive"]) + 4 <= limit:  # a token has a character
            return 0
        return len(tokenizer(row["query"], row["positive"], truncation=False)["input_ids"])

    check_lengths(rows.train, count, limit, log.note, own=own or limit)


def _count_tokens(guard: Guard, module: Any, inputs: tuple[Any, ...]) -> None:
    """Count the tokens of a forward pass in training; the loss makes them, not the collator."""
    if module.training:
        guard.tokens += int(inputs[0]["attention_mask"].sum())


def load(folder: str, *, seed: int = 0) -> Any:
    """Load a folder in float32; a base without a head of one label gets one, by the seed.

    Without network, remote code or pickled weights. Raises StopError for a head of more labels.
    """
    import torch
    from sentence_transformers import CrossEncoder

    config = json.loads((Path(folder) / "config.json").read_text("utf-8"))
    kind = str((config.get("architectures") or [""])[0])
    labels = len(config.get("id2label") or config.get("label2id") or [0, 1])
    if kind.endswith("ForSequenceClassification") and labels != 1:
        raise StopError(f"{folder} has {labels} labels where a reranker has one: name another base")
    torch.manual_seed(seed)
    return CrossEncoder(
        folder,
        device="cuda" if torch.cuda.is_available() else "cpu",
        trust_remote_code=False,
        local_files_only=True,
        num_labels=1,
        model_kwargs={"use_safetensors": True, "dtype": "float32"},
    )


def predict(model: Any, pairs: list[tuple[str, str]]) -> list[float]:
    """Score pairs of query and passage without the activation, which can make scores equal."""
    import torch

    scores = model.predict(
        pairs, batch_size=32, show_progress_bar=False, activation_fn=torch.nn.Identity()
    )
    return [float(score) for score in scores]


def _columns(job: Job, rows: Rows) -> dict[str, Any]:
    """Return the columns that the loss wants, and that of the row ids."""
    loss, train = job.setting("loss"), rows.train
    if loss == "bce":
        pairs = [
            (row, text, float(n == 0))
            for row in train
            for n, text in enumerate((row["positive"], *row["negatives"]))
        ]
        texts = {
            "query": [row["query"] for row, _, _ in pairs],
            "passage": [text for _, text, _ in pairs],
        }
        labels = {"label": [label for _, _, label in pairs]}
        return {**texts, **labels, **row_ids([row for row, _, _ in pairs])}
    queries = {"query": [row["query"] for row in train]}
    if loss == "margin-mse":
        passages = {"positive": [row["positive"] for row in train]}
        for n in range(len(train[0]["negatives"])):
            passages[f"negative_{n + 1}"] = [row["negatives"][n] for row in train]
        margins = [[score[0] - other for other in score[1:]] for score in _scores(job, rows)]
        return {**queries, **passages, "label": margins, **row_ids(train)}
    lists = {"passages": [[row["positive"], *row["negatives"]] for row in train]}
    if loss == "kl":
        return {**queries, **lists, "label": _scores(job, rows), **row_ids(train)}
    grades = [[1.0, *[0.0] * len(row["negatives"])] for row in train]
    return {**queries, **lists, "label": grades, **row_ids(train)}


def _loss(job: Job, model: Any) -> Any:
    """Make the loss. That of ListNet on a teacher's scores has the gradient of their KL."""
    from sentence_transformers.cross_encoder import losses

    name = job.setting("loss")
    if name == "bce":
        return losses.BinaryCrossEntropyLoss(model)
    if name == "margin-mse":
        return losses.MarginMSELoss(model)
    kind = losses.ListNetLoss if name == "kl" else losses.LambdaLoss
    return kind(model, mini_batch_size=-1)  # all pairs of the micro-batch in one forward pass


def _scores(job: Job, rows: Rows) -> list[list[float]]:
    """Return a teacher's scores of each row: the rows' own, or by the teacher."""
    if all(row["scores"] for row in rows.train):
        return [row["scores"] for row in rows.train]
    if not job.teacher:
        raise StopError(
            f"loss {job.setting('loss')} needs a teacher's scores in the rows, or a teacher: set"
            " -o teacher=FOLDER, or -o loss=lambda"
        )
    teacher = load(job.teacher)
    return [
        predict(teacher, [(row["query"], text) for text in (row["positive"], *row["negatives"])])
        for row in rows.train
    ]


def _write(job: Job, model: Any, rows: Rows, limit: int | None, log: Log) -> None:
    """Write the model whole, with LoRA's weights merged and the base's length."""
    if job.setting("parameters") == "lora":
        model[0].model = model[0].model.merge_and_unload()
    if limit:
        model.max_seq_length = limit
    pairs = [(row["query"], row["positive"]) for row in rows.dev][:COMPARED]
    compared = {"pairs": pairs, "scores": predict(model, pairs)}
    write_model(job, log, partial(_save, model), compared)


def _save(model: Any, folder: str) -> None:
    """Save the model; say whether its tokens have types, which is not in the file by default."""
    model.save_pretrained(folder, create_model_card=False)
    file = Path(folder) / "tokenizer_config.json"
    if file.is_file():
        config = json.loads(file.read_text("utf-8"))
        config.setdefault("model_input_names", list(model.tokenizer.model_input_names))
        file.write_text(json.dumps(config, ensure_ascii=False, indent=2), "utf-8")


if __name__ == "__main__":
    sys.exit(main(train))
