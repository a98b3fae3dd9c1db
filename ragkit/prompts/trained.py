"""Which prompts a language model was trained with, and which are used now.

An adapter answers best to prompts that are rendered as its rows were. Its folder has a card that
names their versions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ragkit.prompts.messages import PACKING
from ragkit.prompts.templates import PromptLanguage, Templates

CARD: Final = "card.json"
_LANGUAGES: Final[tuple[PromptLanguage, ...]] = ("en", "zh")


@dataclass(frozen=True, slots=True)
class TrainedPrompts:
    """The versions of prompts that rows were rendered with, and the collection they are about."""

    versions: tuple[str, ...]
    collection: str = ""

    def stale(self, current: frozenset[str]) -> tuple[str, ...]:
        """Return those of the versions that are not used any more.

        >>> TrainedPrompts(("a-1", "b-1")).stale(frozenset({"b-1", "c-1"}))
        ('a-1',)
        """
        return tuple(version for version in self.versions if version not in current)


def read_trained(folder: Path) -> TrainedPrompts:
    """Read the card in an adapter's folder; no versions where there is none that names them."""
    try:
        return trained_prompts(json.loads((folder / CARD).read_text("utf-8")))
    except (OSError, ValueError):
        return TrainedPrompts(())


def trained_prompts(card: Any) -> TrainedPrompts:
    """Take versions and collection from the card of rows, or of an adapter."""
    versions = card.get("prompts") if isinstance(card, dict) else None
    if not isinstance(versions, list):
        return TrainedPrompts(())
    return TrainedPrompts(tuple(map(str, versions)), str(card.get("collection") or ""))


def current_versions(prompts: Path | None, collection: str) -> frozenset[str]:
    """Return the versions of the prompts that answer now, one for each language.

    `prompts` is the folder of the user's own templates. Raises SettingsError for a wrong one.
    """
    templates = Templates(prompts, collection)
    return frozenset(
        f"{templates.version('system', 'user', language=language)}-{PACKING}"
        for language in _LANGUAGES
    )
