"""Fill the collections of a sweep: ingest the documents once for each way of storing them.

It runs `ragkit ingest` as a program, as a user would.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import RagkitError, UsageError
from ragkit.system.private_files import make_private
from ragkit_eval.rag.documents import collection_for
from ragkit_eval.sets import LabelledSet, corpus_of
from ragkit_eval.sweep.grid import INGEST_SETTINGS, Cell, Grid

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings

_PASSED: Final = (*INGEST_SETTINGS, "home", "database_url", "tenant", "embed_device")
_OUTPUT_CHARS = 500


class Collections:
    """Names the collection of each cell, and fills it at its first use."""

    def __init__(
        self, grid: Grid, labelled: LabelledSet, folder: Path, collection: str | None
    ) -> None:
        if collection and (grid.documents or grid.stores):
            raise UsageError(
                "documents that are ingested for a sweep get collections of their own: leave"
                f" --collection {collection} out"
            )
        ingested = bool(grid.documents or (labelled.documents and collection is None))
        if grid.stores and not ingested:
            options = ", ".join(name for name in grid.axes if name in INGEST_SETTINGS)
            raise UsageError(
                f"{options}: the documents have to be ingested for it: write"
                ' documents = ["FOLDER"] into the grid, or take a set that has its own'
            )
        self._collection = None if ingested else collection
        self._ingested = ingested
        self._grid = grid
        self._labelled = labelled
        self._folder = folder
        self._filled: dict[str, str] = {}

    def of(self, cell: Cell, settings: Settings) -> str:
        """Return the collection's name. Raises RagkitError when nothing could be ingested."""
        if not self._ingested:
            return self._collection or settings.collection
        paths = [path.resolve() for path in self._grid.documents]
        about = " ".join(map(str, paths)) or collection_for(self._labelled)
        name = cell.collection(about)
        if name not in self._filled:
            ingest(paths or [self._write_documents()], name, settings)
            self._filled[name] = cell.label
        return name

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the collections that this sweep filled."""
        return tuple(self._filled)

    def _write_documents(self) -> Path:
        folder = self._folder / "documents"
        make_private(folder)
        corpus_of(self._labelled, folder)
        return folder


def ingest(paths: Sequence[Path], collection: str, settings: Settings) -> None:
    """Ingest into a collection with these settings; unchanged documents are skipped.

    Failed files are listed on standard error; they fail in every cell. Raises RagkitError when the
    program fails otherwise.
    """
    command = [sys.executable, "-m", "ragkit", "ingest", *map(str, paths)]
    process = subprocess.run(
        [*command, "--collection", collection],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=_make_environment(settings),
    )
    if process.returncode == 3:
        sys.stderr.write(process.stdout)
    elif process.returncode != 0:
        output = " ".join(process.stdout.split())[:_OUTPUT_CHARS]
        raise RagkitError(
            f"the documents could not be ingested into {collection}"
            f" (exit code {process.returncode}): {output or 'see above'}"
        )


def _make_environment(settings: Settings) -> Mapping[str, str]:
    """Return this process's variables, with those that decide what is stored, and where."""
    variables = dict(os.environ)
    for name in _PASSED:
        value: Any = getattr(settings, name)
        secret = getattr(value, "get_secret_value", None)
        variable = f"RAGKIT_{name.upper()}"
        variables.pop(variable, None)
        if value is not None:
            variables[variable] = secret() if secret else str(value)
    return variables
