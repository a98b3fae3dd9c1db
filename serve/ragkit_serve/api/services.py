"""What the HTTP API and the chat page work with, made once in each process that answers."""

from __future__ import annotations

from dataclasses import dataclass

from ragkit.access.library import Library
from ragkit.settings.settings import Settings
from ragkit.store.open import Database
from ragkit_serve.web.processes import StatusFile


@dataclass(frozen=True, slots=True)
class Services:
    """The settings, the open database, and the knowledge bases over it.

    `status` says how the processes of the server are; None where this one has no others.
    """

    settings: Settings
    database: Database
    library: Library
    status: StatusFile | None = None
