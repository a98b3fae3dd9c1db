"""Read a file's title and metadata from its sidecar: report.pdf.meta.json or .meta.toml."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit_ingest.sources.item import Value
from ragkit_ingest.sources.sizes import TooLargeError
from ragkit_ingest.sources.values import metadata_of

_MAX_BYTES: Final = 1 << 18  # arbitrary: a hundred keys, written at length
_MAX_TITLE_CHARS: Final = 1000
# Deeper than any metadata, and far from where a reader that calls itself comes to its end: values
# in values are refused anyhow.
_MAX_BRACKETS: Final = 2000


@dataclass(frozen=True, slots=True)
class SidecarValues:
    """What a sidecar says of its file."""

    title: str = ""
    metadata: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The sidecars that a file has, by name, and how one is read."""

    ENDINGS: ClassVar = (".meta.json", ".meta.toml")

    names: tuple[str, ...]
    open: Callable[[str, int], bytes]

    def read(self) -> SidecarValues:
        """Read what the sidecar says. Raises IngestError("read") for one that makes no sense."""
        if len(self.names) > 1:
            raise IngestError("read", f"it has two sidecars, {' and '.join(self.names)}: keep one")
        name = self.names[0]
        try:
            return _read_values(_table(name, self.open(name, _MAX_BYTES)))
        except TooLargeError as error:
            raise IngestError(
                "read", f"its sidecar {name} is over {_MAX_BYTES >> 10} KB"
            ) from error
        except IngestError as error:
            raise IngestError("read", f"its sidecar {name}: {error.reason}") from error
        except (ValueError, RecursionError) as error:
            message = str(error) or "it is nested too deeply"
            raise IngestError("read", f"its sidecar {name}: {clean(message)[:300]}") from error


def is_sidecar(name: str) -> bool:
    """Say whether a file speaks of another one, going by its name alone.

    >>> is_sidecar("report.pdf.meta.json"), is_sidecar("package.meta.json")
    (True, False)
    """
    for ending in Sidecar.ENDINGS:
        if name.lower().endswith(ending):
            return "." in name[: -len(ending)].lstrip(".")
    return False


def _table(name: str, data: bytes) -> dict[str, Any]:
    if data.count(b"[") + data.count(b"{") > _MAX_BRACKETS:
        raise ValueError("it is nested too deeply")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("not UTF-8") from error
    if name.endswith(".json"):
        table = json.loads(text)
    else:
        table = tomllib.loads(text.replace("\r\n", "\n"))
    if not isinstance(table, dict):
        raise ValueError('not an object: write {"title": "...", "year": 2020}')
    return table


def _read_values(table: dict[str, Any]) -> SidecarValues:
    title = table.pop("title", None) or ""
    if not isinstance(title, str) or len(title) > _MAX_TITLE_CHARS:
        raise ValueError(f"'title' has to be a text of at most {_MAX_TITLE_CHARS} characters")
    return SidecarValues(clean(title).strip(), metadata_of(table))
