"""A recipe: everything that decides what a training run does.

It comes from a TOML file, from options, or both; an option wins. An unknown key is an error,
because an ignored one shows only in the loss, hours later.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal, get_args

from ragkit.errors import NotFoundError, UsageError

Kind = Literal["embedder", "reranker", "adapter", "reward"]
Loss = Literal["mnrl", "cached-mnrl", "gist", "lambda", "bce", "margin-mse", "kl"]
Method = Literal["sft", "dpo", "kto", "grpo"]
Parameters = Literal["full", "lora", "prompt", "prefix"]
Precision = Literal["auto", "fp32", "bf16", "fp16"]
Schedule = Literal["cosine", "linear", "constant"]
Optimizer = Literal["adamw", "adamw-8bit"]
Checkpointing = Literal["auto", "on", "off"]
Sharding = Literal["auto", "ddp", "fsdp", "zero1", "zero2", "zero3"]

LOSSES: Final[dict[str, tuple[Loss, ...]]] = {
    "embedder": ("mnrl", "cached-mnrl", "gist", "margin-mse", "kl"),
    "reranker": ("lambda", "bce", "margin-mse", "kl"),
}
_CHOICES: Final[dict[str, tuple[object, ...]]] = {
    "kind": get_args(Kind),
    "method": get_args(Method),
    "parameters": get_args(Parameters),
    "bits": (16, 8, 4),
    "precision": get_args(Precision),
    "schedule": get_args(Schedule),
    "optimizer": get_args(Optimizer),
    "checkpointing": get_args(Checkpointing),
    "sharding": get_args(Sharding),
}
_MINIMA: Final[dict[str, float]] = {
    "rank": 1, "alpha": 1, "batch": 1, "micro_batch": 0, "negatives": 0, "max_tokens": 8,
    "epochs": 0, "steps": 0, "minutes": 0, "learning_rate": 0,
    "warmup": 0, "weight_decay": 0, "clip": 0, "evaluate_every": 0, "save_every": 0, "patience": 1,
    "scale": 0, "seed": 0, "gpus": 1,
}  # fmt: skip
# Where a kind differs from the class below: answers are longer than questions.
_LANGUAGE_MODEL: Final = {"parameters": "lora", "max_tokens": 2048}
_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "reranker": {"negatives": 3},
    "adapter": _LANGUAGE_MODEL,
    "reward": _LANGUAGE_MODEL,
}
# Learning rates of language models, for all weights and for LoRA. The first are the defaults of
# TRL 1.16 (SFTConfig, DPOConfig, KTOConfig, GRPOConfig, RewardConfig). LoRA learns best with about
# ten times the rate, whatever its rank (Schulman et al. 2025, LoRA Without Regret,
# https://thinkingmachines.ai/blog/lora/); TRL's pages on PEFT and on reward models name the same
# for SFT, DPO, GRPO and rewards. Of KTO they only say that it is higher.
RATES: Final[Mapping[str, tuple[float, float]]] = {
    "sft": (2e-5, 2e-4),
    "dpo": (1e-6, 1e-5),
    "kto": (1e-6, 1e-5),
    "grpo": (1e-6, 1e-5),
    "reward": (1e-4, 1e-3),
}
# Of virtual tokens by SFT: TRL's page on PEFT has 1e-2 to 3e-2 for prompts, PEFT's guide to
# prefixes 1e-2.
VIRTUAL_TOKENS_RATE: Final = 1e-2
_MAXIMA: Final[dict[str, float]] = {"warmup": 1, "seed": 2**32 - 1, "learning_rate": 1}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a run trains, on which rows, and how.

    `batch` is the effective batch in rows: what one step of the optimizer sees, over all GPUs.
    `micro_batch` is the part of it that is in memory at once on one GPU; 0 lets the plan choose.
    Each row is trained with so many `negatives`, 1 for embedders and 3 for rerankers unless given.
    `warmup` is a share of the steps. `epochs`, `steps` and `minutes` each end a run; 0 is no limit,
    and `steps` replaces `epochs`. `scale` multiplies cosines in the losses of embedders (20 is a
    temperature of .05, sentence-transformers' default). A language model's `learning_rate` follows
    from method and parameters (`default_rate`). The other defaults are those that the trainers'
    documentation starts with; none was fitted to data.
    """

    kind: Kind
    base: str
    data: str
    loss: str = ""  # by the kind: mnrl, lambda; "" for others
    method: Method = "sft"
    matryoshka: tuple[int, ...] = ()
    teacher: str = ""
    parameters: Parameters = "full"
    bits: int = 16
    rank: int = 16
    alpha: int = 32
    precision: Precision = "auto"
    batch: int = 32
    micro_batch: int = 0
    negatives: int = 1
    max_tokens: int = 512
    epochs: float = 3.0
    steps: int = 0
    minutes: float = 0.0
    learning_rate: float = 2e-5
    warmup: float = 0.1
    schedule: Schedule = "cosine"
    weight_decay: float = 0.01
    clip: float = 1.0
    optimizer: Optimizer = "adamw"
    checkpointing: Checkpointing = "auto"
    evaluate_every: int = 0
    save_every: int = 0
    patience: int = 3
    scale: float = 20.0
    seed: int = 0
    gpus: int = 1
    sharding: Sharding = "auto"

    def as_json(self) -> dict[str, Any]:
        """Return the recipe's values as JSON holds them."""
        return asdict(self) | {"matryoshka": list(self.matryoshka)}

    @property
    def hash(self) -> str:
        """Return 16 hex digits that change with any value but the places of base and data."""
        values = {name: v for name, v in self.as_json().items() if name not in {"base", "data"}}
        text = json.dumps(values, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


_TYPES: Final = {field.name: str(field.type) for field in fields(Recipe)}


def make_recipe(values: Mapping[str, object], *, where: str = "the recipe") -> Recipe:
    """Check values and make a recipe of them. Raises UsageError naming the key and the remedy."""
    for name in values:
        if name not in _TYPES:
            raise UsageError(f"{where}: unknown key {name!r}{_nearest(name, _TYPES)}")
    checked = {name: _check(name, value, where) for name, value in values.items()}
    for name in ("kind", "base", "data"):
        if not checked.get(name):
            raise UsageError(f"{where}: {name} is missing: add it")
    kind = str(checked["kind"])
    losses = LOSSES.get(kind, ())
    loss = checked.get("loss") or (losses[0] if losses else "")
    if loss not in (losses or ("",)):
        raise UsageError(
            f"{where}: loss = {loss!r} is not for kind {kind!r}: "
            + (f"choose {_listed(losses)}" if losses else "leave it out")
        )
    return Recipe(**{**_defaults(kind, checked), **checked, "loss": loss})


def default_rate(method: str, parameters: str) -> float:
    """Return the learning rate of a language model that a recipe does not name.

    `method` is one of `RATES`: how an adapter is trained, or "reward".

    >>> default_rate("sft", "lora"), default_rate("dpo", "lora"), default_rate("dpo", "full")
    (0.0002, 1e-05, 1e-06)
    """
    full, lora = RATES[method]
    if method == "sft" and parameters in {"prompt", "prefix"}:
        return VIRTUAL_TOKENS_RATE
    return full if parameters == "full" else lora


def concerning(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a recipe that have an effect on its kind of run.

    >>> values = make_recipe({"kind": "reranker", "base": "b", "data": "d"}).as_json()
    >>> "negatives" in concerning(values), "rank" in concerning(values)
    (True, False)
    """
    kind, parameters = recipe.get("kind"), recipe.get("parameters")
    is_model = kind in {"adapter", "reward"}
    idle = {"loss", "negatives", "teacher"} if is_model else {"method", "bits"}
    if kind == "reward":
        idle.add("method")
    if kind != "embedder":
        idle |= {"matryoshka", "scale"}
    if parameters == "full":
        idle |= {"rank", "alpha", "bits"}
    elif parameters != "lora":
        idle.add("alpha")
    if recipe.get("gpus") == 1:
        idle |= {"gpus", "sharding"}
    if recipe.get("steps"):
        idle.add("epochs")
    return {name: value for name, value in recipe.items() if name not in idle}


def _defaults(kind: str, checked: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(_DEFAULTS.get(kind, {}))
    if kind in {"adapter", "reward"}:
        method = "reward" if kind == "reward" else checked.get("method", "sft")
        parameters = checked.get("parameters", values["parameters"])
        values["learning_rate"] = default_rate(method, parameters)
    return values


def read_recipe(path: Path | None = None, **options: object) -> Recipe:
    """Read a recipe from a TOML file; options that are not None replace its values.

    Raises NotFoundError for a file that cannot be read, UsageError for what is wrong in it.
    """
    values: dict[str, object] = {} if path is None else read_toml(path)
    where = "the recipe" if path is None else str(path)
    values |= {name: value for name, value in options.items() if value is not None}
    return make_recipe(values, where=where)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises NotFoundError when it cannot be read, UsageError for no TOML."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}: name a file") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error


def _check(name: str, value: object, where: str) -> Any:
    type_name = _TYPES[name]
    if name == "matryoshka":
        return _check_dimensions(value, where)
    if name in _CHOICES:
        if value not in _CHOICES[name] or isinstance(value, bool):
            choices = _CHOICES[name]
            close = _nearest(str(value), map(str, choices)) or f": choose {_listed(choices)}"
            raise UsageError(f"{where}: {name} = {value!r} is not known{close}")
        return value
    if type_name == "str":
        if not isinstance(value, str | Path):
            raise UsageError(f"{where}: {name} = {value!r} is no text: put it in quotes")
        return str(value)
    return _check_number(name, value, type_name, where)


def _check_number(name: str, value: object, type_name: str, where: str) -> int | float:
    is_whole = type_name == "int"
    if isinstance(value, bool) or not isinstance(value, int if is_whole else int | float):
        raise UsageError(f"{where}: {name} = {value!r} is no {'whole ' * is_whole}number")
    low, high = _MINIMA[name], _MAXIMA.get(name, 1e12)
    if not (isfinite(value) and low <= value <= high):
        limit = f"from {low:g} to {high:g}" if name in _MAXIMA else f"{low:g} or more"
        raise UsageError(f"{where}: {name} = {value:g} is out of range: write {limit}")
    return value if is_whole else float(value)


def _check_dimensions(value: object, where: str) -> tuple[int, ...]:
    rows = value if isinstance(value, list | tuple) else None
    if rows is None or not all(type(size) is int and size > 0 for size in rows):
        raise UsageError(f"{where}: matryoshka = {value!r} is no list of dimensions: [256, 128]")
    return tuple(sorted(set(rows), reverse=True))


def _nearest(name: str, names: Iterable[str]) -> str:
    close = get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f": do you mean {close[0]}?" if close else ""


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))
