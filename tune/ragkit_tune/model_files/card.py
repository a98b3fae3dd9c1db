"""The card of a model that was made of others: parents with hashes and licences, and the verdict.

No such model is proven: `ragkit tune prove` does that.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ragkit.embed.bundled import NAME
from ragkit.embed.find import MINILM, ModelFiles, read_json
from ragkit.system.private_files import private
from ragkit_tune.model_files.folder import module_folders, write_json
from ragkit_tune.model_files.tensors import RANGES

CARD: Final = "card.json"
TEXT: Final = "card.md"
UNPROVEN: Final = "unproven"
# Of models in packages, by their cards on the Hugging Face hub (intfloat/multilingual-e5-small and
# sentence-transformers/all-MiniLM-L6-v2).
_PACKAGED: Final = {NAME: "mit", MINILM: "apache-2.0"}
_README_BYTES: Final = 1 << 16  # its front matter stands at the top
_LICENCE: Final = re.compile(r"^license: *['\"]?([^\n'\"]{1,80})", re.MULTILINE)
_NON_COMMERCIAL: Final = re.compile(r"(?:^|[-_. ])nc(?:[-_. ]|$)|non-?commercial", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Parent:
    """A model that another is made of; `sha256` is that of its weights, `weight` its share."""

    name: str
    revision: str
    sha256: str
    licence: str
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """What made a model: a command with its settings, its parents, sizes in bytes of weights."""

    made_by: str
    settings: Mapping[str, Any]
    parents: Sequence[Parent]
    notes: Sequence[str]
    bytes_before: int
    bytes_after: int

    def as_json(self) -> dict[str, Any]:
        """Return the JSON of card.json, which `--json` prints, too."""
        date = datetime.now(UTC).date().isoformat()
        fields = {**asdict(self), "settings": dict(self.settings), "notes": list(self.notes)}
        return {"format": 1, "state": UNPROVEN, "date": date, **fields}


def describe_parent(files: ModelFiles, weight: float | None = None) -> Parent:
    """Hash a parent's weights and read its licence."""
    digest = hashlib.sha256()
    for file in weight_files(files.folder):
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    stated = licence(files.folder) or _PACKAGED.get(files.name, "")
    return Parent(files.name, files.revision, digest.hexdigest(), stated, weight)


def weight_files(folder: Path) -> list[Path]:
    """List the files of weights, those of a pipeline's modules among them."""
    places = [folder, *(folder / name for name in module_folders(folder))]
    files = [file for place in places for file in sorted(place.glob("*.safetensors"))]
    return [file for file in files if file.name != RANGES]


def weight_bytes(folder: Path) -> int:
    """Add up the bytes of a model's files of weights."""
    return sum(file.stat().st_size for file in weight_files(folder))


def licence(folder: Path) -> str:
    """Read a model's licence from its card or README; "" where neither names one."""
    stated = read_json(folder / CARD)
    parents = stated.get("parents") if isinstance(stated, dict) else None
    if isinstance(parents, list):
        names = {str(parent.get("licence", "")) for parent in parents if isinstance(parent, dict)}
        return " and ".join(sorted(filter(None, names)))
    try:
        with (folder / "README.md").open("rb") as stream:
            text = stream.read(_README_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""
    if not text.startswith("---"):
        return ""
    match = _LICENCE.search(text[3:].partition("\n---")[0])
    return match[1].strip() if match else ""


def licence_notes(parents: Sequence[Parent]) -> list[str]:
    """Say which licences are unknown, differ, or forbid commercial use."""
    notes = [
        f"{parent.name} names no licence: look it up before you pass the model on"
        for parent in parents
        if not parent.licence
    ]
    names = sorted({parent.licence for parent in parents if parent.licence})
    if len(names) > 1:
        notes.append(f"The parents' licences differ ({', '.join(names)}): all of them hold")
    notes += [f"{name} forbids commercial use" for name in names if _NON_COMMERCIAL.search(name)]
    return notes


def write_card(card: Card, folder: Path, name: str) -> None:
    """Write card.json and card.md."""
    write_json(folder / CARD, card.as_json())
    with open(folder / TEXT, "w", encoding="utf-8", opener=private) as stream:
        stream.write(card_text(card, name))


def card_text(card: Card, name: str) -> str:
    """Write the card for people; `name` is the model's folder."""
    share = card.bytes_after / max(card.bytes_before, 1)
    rows = [(key, str(value)) for key, value in card.settings.items()]
    rows.append(("weights", f"{card.bytes_after / 1e6:,.1f} MB, {share:.0%} of {_first(card)}"))
    return "\n".join(
        [
            f"# {name}",
            "",
            f"Made by `ragkit tune {card.made_by}`.",
            "**Unproven: run `ragkit tune prove` before you use it.**",
            "",
            "| setting | value |",
            "|---|---|",
            *(f"| {key} | {_cell(value)} |" for key, value in rows),
            "",
            "| parent | revision | licence | weight | sha256 of its weights |",
            "|---|---|---|---|---|",
            *(_parent_row(parent) for parent in card.parents),
            "",
            *(f"- {_cell(note)}." for note in card.notes),
            "",
        ]
    )


def _first(card: Card) -> str:
    return _cell(card.parents[0].name)


def _parent_row(parent: Parent) -> str:
    weight = "" if parent.weight is None else f"{parent.weight:g}"
    cells = parent.name, parent.revision, parent.licence or "not stated", weight, parent.sha256
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Escape a value for a table cell."""
    return " ".join(text.replace("|", "\\|").split())


def how_to_prove(out: Path) -> str:
    """Return what to type next for a model that is new in `out`, and where questions come from."""
    return (
        f"unproven: ragkit tune prove {shlex.quote(str(out))} --set questions.jsonl\n"
        "questions.jsonl is your own labelled set, or rows/test.jsonl of `ragkit tune data`."
    )
