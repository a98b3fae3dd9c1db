"""Export a data folder for another trainer: its rows and a first configuration.

The test questions are not exported: a model that any trainer makes is proven on them by ragkit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from ragkit.errors import UsageError
from ragkit.system.private_files import make_private
from ragkit_tune.data.data_set import (
    DataSet,
    RowsKind,
    check_new_folder,
    read_data_set,
    read_objects,
    read_pairs,
    write_rows,
    write_whole,
)
from ragkit_tune.export import configurations as files
from ragkit_tune.export import rows as forms

Trainer = Literal["axolotl", "llamafactory", "unsloth", "flagembedding", "sentence-transformers"]
TRAINERS: Final[tuple[Trainer, ...]] = get_args(Trainer)

Row = dict[str, Any]
Form = Callable[[Iterable[Row]], Iterable[Row]]

_FORMS: Final[Mapping[Trainer, Mapping[RowsKind, Form]]] = {
    "axolotl": {"chat": forms.axolotl_chat, "preference": forms.ranked},
    "llamafactory": {
        "chat": forms.sharegpt_chat,
        "preference": forms.ranked,
        "completion": forms.sharegpt_labelled,
    },
    "unsloth": {
        "chat": forms.trl_chat,
        "preference": forms.trl_ranked,
        "completion": forms.trl_labelled,
    },
}
_CONFIGURATIONS: Final[Mapping[Trainer, Callable[[str], dict[str, str]]]] = {
    "axolotl": files.axolotl,
    "llamafactory": files.llamafactory,
    "unsloth": files.unsloth,
    "flagembedding": files.flagembedding,
    "sentence-transformers": files.sentence_transformers,
}
_OF_PAIRS: Final[tuple[Trainer, ...]] = ("flagembedding", "sentence-transformers")


@dataclass(frozen=True, slots=True)
class Export:
    """The files that were written, with the number of their rows; None for a configuration."""

    folder: Path
    trainer: Trainer
    files: Mapping[str, int | None]


def export_data(folder: Path, trainer: str, out: Path) -> Export:
    """Write a data folder's rows in the form of a trainer, with a first configuration.

    Raises UsageError for an unknown trainer, for rows that it does not read, and for a folder that
    holds something; NotFoundError for a folder without rows.
    """
    chosen = next((name for name in TRAINERS if name == trainer), None)
    if chosen is None:
        raise UsageError(f"--for {trainer} is unknown: choose one of {', '.join(TRAINERS)}")
    check_new_folder(out)
    data = read_data_set(folder)
    _check_rows(data, chosen)
    try:
        make_private(out)
    except OSError as error:
        raise UsageError(f"{out} cannot be made: {error.strerror}: name another") from error
    written: dict[str, int | None] = {}
    for split in ("train", "dev"):
        for name, rows in _split_files(data, split, chosen).items():
            written[name] = write_rows(out / name, rows)
    for name, text in _CONFIGURATIONS[chosen](data.rows_kind).items():
        write_whole(out / name, text)
        written[name] = None
    return Export(out, chosen, written)


def _check_rows(data: DataSet, trainer: Trainer) -> None:
    kinds = ["pairs"] if trainer in _OF_PAIRS else list(_FORMS[trainer])
    if data.rows_kind not in kinds:
        readers = [
            name
            for name in TRAINERS
            if data.rows_kind in (["pairs"] if name in _OF_PAIRS else _FORMS[name])
        ]
        raise UsageError(
            f"{data.folder} has rows of kind {data.rows_kind}, and {trainer} reads"
            f" {' or '.join(kinds)}: choose {' or '.join(readers)}"
        )


def _split_files(
    data: DataSet, split: Literal["train", "dev"], trainer: Trainer
) -> dict[str, Iterable[Row]]:
    path = data.path(split)
    if trainer in _FORMS:
        rows = (values for _, values in read_objects(path))
        return {f"{split}.jsonl": _FORMS[trainer][data.rows_kind](rows)}
    pairs = read_pairs(path)
    if trainer == "flagembedding":
        seed = int(data.card.get("seed") or 0)
        return {f"{split}.jsonl": forms.flag_rows(pairs, seed)}
    return {
        f"{split}-triplets.jsonl": forms.triplets(pairs),
        f"{split}-pairs.jsonl": forms.pairs(pairs),
    }
