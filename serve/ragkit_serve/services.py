"""What the HTTP API and the chat page work with, made once in each process that answers."""

from __future__ import annotations

from dataclasses import dataclass

from ragkit.library import Library
from ragkit.settings import Settings
from ragkit.store.open import Database


@dataclass(frozen=True, slots=True)
class Services:
    """The settings, the open database, and the knowledge bases over it."""

    settings: Settings
    database: Database
    library: Library
