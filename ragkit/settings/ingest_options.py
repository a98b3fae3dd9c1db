"""Options that decide how files become passages, from the settings or the collection.

A collection's options win over the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal

from ragkit.errors import SettingsError, UsageError

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings

SPLITTERS: Final = ("structural", "fixed", "sentences", "parent-child", "code")
REMOVED: Final = "semantic"  # a splitter of earlier versions: 410 s against 0.1 s, and less recall
LANGCHAIN: Final = "langchain"  # a prefix: what follows names a class of langchain_text_splitters
KEY: Final = "ingest"  # under which a collection's settings keep its own options


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """Every option that changes what a file's bytes become, by the settings' names."""

    splitter: str = "structural"
    chunk_tokens: int | None = None
    chunk_overlap_tokens: int | None = None
    chunk_header: Literal["off", "on"] = "off"
    long_chunks: Literal["refuse", "mean", "max", "weighted"] = "refuse"
    unicode: Literal["nfc", "nfkc", "none"] = "nfc"
    mask: str | None = None
    boilerplate: Literal["keep", "drop"] = "keep"
    near_duplicates: Literal["keep", "flag", "drop"] = "keep"
    comments: Literal["drop", "keep"] = "drop"
    revisions: Literal["accepted", "original", "both"] = "accepted"
    ocr: Literal["auto", "off"] = "auto"
    pdf_layout: Literal["text", "docling"] = "text"

    def as_json(self) -> dict[str, Any]:
        """Return the options as JSON has them, by name."""
        return asdict(self)


NAMES: Final = tuple(field.name for field in fields(IngestOptions))


def options_of(settings: Settings, collection_options: Mapping[str, Any]) -> IngestOptions:
    """Combine the settings with a collection's stored options.

    Raises SettingsError for a stored value that cannot be used.
    """
    if collection_options:
        settings = type(settings)(**{**dict(settings), **collection_options})
    return IngestOptions(**{name: getattr(settings, name) for name in NAMES})


def checked(name: str, value: object, settings: Settings) -> Any:
    """Return an option's value as the settings would have it.

    Raises UsageError for an unknown name, SettingsError for a value that cannot be used.
    """
    if name not in NAMES:
        raise UsageError(f"There is no option {name!r}: these are {', '.join(NAMES)}.")
    return getattr(type(settings)(**{**dict(settings), name: value}), name)


def check_splitter(name: str) -> str:
    """Return the name of a splitter, if there is one of that name.

    Raises SettingsError naming the close ones. Of `langchain:CLASS` the class is looked up when it
    is used: the core does not know what is installed.
    """
    kind, colon, inner = name.partition(":")
    if (name in SPLITTERS and not colon) or (kind == LANGCHAIN and inner.isidentifier()):
        return name
    if kind == LANGCHAIN:
        raise SettingsError(
            f"{name!r} names no text splitter: say which, as in"
            f" {LANGCHAIN}:RecursiveCharacterTextSplitter."
        )
    if name == REMOVED:
        raise SettingsError(
            f"There is no splitter {name!r} any more: set RAGKIT_SPLITTER=structural, or for one"
            " collection `ragkit collections options NAME splitter=structural`."
        )
    near = get_close_matches(name, SPLITTERS, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else "there are "
    choices = "" if near else f"{', '.join(SPLITTERS)} and {LANGCHAIN}:CLASS."
    raise SettingsError(f"There is no splitter {name!r}: {hint}{choices}")
