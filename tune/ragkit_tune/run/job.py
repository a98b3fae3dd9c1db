"""The job file of a run: which worker, on which base, rows and recipe."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import UsageError
from ragkit_tune.data.data_set import DataSet, hash_file, read_data_set
from ragkit_tune.recipe import Recipe
from ragkit_tune.run.folder import Run, RunFolder, write_private

if TYPE_CHECKING:
    from ragkit.embed.find import ModelFiles

WORKERS: Final = Path(__file__).parents[1] / "worker"
_METHODS: Final = {"sft": "sft", "dpo": "preference", "kto": "preference", "grpo": "grpo"}
_ROWS: Final = {
    "embedder": "pairs",
    "reranker": "pairs",
    "reward": "preference",
    "sft": "chat",
    "dpo": "preference",
    "kto": "completion",
    "grpo": "chat",
}
_PURPOSES: Final = {"embedder": "embedding model", "reranker": "reranker"}


def worker_script(recipe: Recipe) -> Path:
    """Return the script that trains a recipe's kind of model."""
    name = _METHODS[recipe.method] if recipe.kind == "adapter" else recipe.kind
    return WORKERS / f"{name}.py"


def packages(recipe: Recipe) -> tuple[str, ...]:
    """Return what the worker's interpreter must be able to import."""
    common = ("torch", "transformers", "accelerate", "datasets")
    kind = ("sentence_transformers",) if recipe.kind in _PURPOSES else ("trl", "peft")
    lora = ("peft",) if recipe.parameters != "full" and "peft" not in kind else ()
    eight_bits = ("bitsandbytes",) if recipe.bits < 16 or recipe.optimizer == "adamw-8bit" else ()
    zero = ("deepspeed",) if recipe.gpus > 1 and recipe.sharding.startswith("zero") else ()
    return (*common, *kind, *lora, *eight_bits, *zero)


def rows_kind(recipe: Recipe) -> str:
    """Return which kind of rows a recipe trains on, a value of `ragkit tune data --kind`."""
    return _ROWS[recipe.method if recipe.kind == "adapter" else recipe.kind]


def read_rows(recipe: Recipe) -> DataSet:
    """Read the recipe's data folder. Raises UsageError when its rows are of another kind."""
    data = read_data_set(Path(recipe.data).expanduser())
    kind = rows_kind(recipe)
    if data.rows_kind != kind:
        name = recipe.method if recipe.kind == "adapter" else recipe.kind
        raise UsageError(
            f"{recipe.data} has rows of kind {data.rows_kind}, and {name} is trained on {kind}:"
            f" make them with `ragkit tune data --kind {kind}`"
        )
    for split in ("train", "dev"):
        if not data.counts[split]:
            raise UsageError(f"{recipe.data} has no {split} rows: add documents, make it anew")
    return data


def find_base(recipe: Recipe) -> ModelFiles:
    """Find the base model's files. Raises ModelError."""
    from ragkit.embed.find import find_model

    return find_model(recipe.base, kind=_PURPOSES.get(recipe.kind, "language model"))


def description(recipe: Recipe, data: DataSet, base: ModelFiles) -> dict[str, Any]:
    """Return what run.json says of a run that begins."""
    return {
        "kind": recipe.kind,
        "state": "running",
        "recipe": recipe.as_json(),
        "recipe_hash": recipe.hash,
        "data_hash": data.hash,
        "base": {
            "name": base.name,
            "revision": base.revision,
            "folder": str(base.folder.absolute()),
        },
        "versions": {},
    }


def write_job(run: Run, recipe: Recipe, data: DataSet, base: ModelFiles) -> None:
    """Write the job of a run, which goes on from its last checkpoint where it has one."""
    folder = run.folder
    checkpoint = folder.last_checkpoint()
    job = {
        "kind": recipe.kind,
        "base": str(base.folder.absolute()),
        "prefixes": _prefixes(recipe, base),
        "train": str(data.path("train").absolute()),
        "dev": str(data.path("dev").absolute()),
        "train_hash": hash_file(data.path("train")),
        "dev_hash": hash_file(data.path("dev")),
        "model": str(folder.model),
        "checkpoints": str(folder.checkpoints),
        "log": str(folder.steps),
        "recipe": recipe.as_json(),
        "recipe_hash": recipe.hash,
        "data_hash": data.hash,
        "teacher": _teacher(recipe),
        "resume": str(checkpoint) if checkpoint else "",
        "extra": _extra(recipe),
    }
    write_private(folder.job, json.dumps(job, ensure_ascii=False, indent=2) + "\n")


def read_versions(folder: RunFolder) -> dict[str, str]:
    """Return the versions of the libraries that made the last checkpoint."""
    checkpoint = folder.last_checkpoint()
    if checkpoint is None:
        return {}
    about = json.loads((checkpoint / "checkpoint.json").read_text("utf-8"))
    return dict(about.get("versions") or {})


def _prefixes(recipe: Recipe, base: ModelFiles) -> dict[str, str]:
    """Return the prefixes that ragkit itself puts before queries and passages of the base."""
    if recipe.kind != "embedder":
        return {"query": "", "passage": ""}
    from ragkit.embed.models import model_card

    card = model_card(base.name, base.folder)
    return {"query": card.query_prefix, "passage": card.passage_prefix}


def _extra(recipe: Recipe) -> dict[str, Any]:
    """Return what only one kind of worker needs: of GRPO the program that gives rewards."""
    if recipe.kind != "adapter" or recipe.method != "grpo":
        return {}
    return {"reward": [sys.executable, "-m", "ragkit_tune.run.reward_server"]}


def _teacher(recipe: Recipe) -> str:
    from ragkit.embed.find import find_model

    if not recipe.teacher:
        return ""
    kind = _PURPOSES.get(recipe.kind, "model")
    return str(find_model(recipe.teacher, kind=kind).folder.absolute())
