"""Where a benchmark keeps a database: in a folder of its own, gone afterwards unless told.

BENCH_HOME names a folder that keeps them, so that a long run can be continued.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragkit.settings.home import make_home
from ragkit.store.server.embedded import stop

if TYPE_CHECKING:
    from ragkit.store.postgres import PostgresStore


@contextmanager
def passable_folder() -> Iterator[str]:
    """Give a temporary folder that others may pass: as root PostgreSQL runs as another user."""
    with tempfile.TemporaryDirectory(prefix="ragkit-bench-") as folder:
        os.chmod(folder, 0o711)
        yield folder


@contextmanager
def home(name: str) -> Iterator[Path]:
    """Give a folder for a database; its server is stopped and the folder removed, unless kept."""
    kept = os.environ.get("BENCH_HOME")
    folder = Path(kept, name) if kept else Path(tempfile.mkdtemp(prefix=f"ragkit-{name}-"))
    try:
        make_home(folder)
        if not kept:
            folder.chmod(0o711)  # as root PostgreSQL runs as another user
        yield folder
    finally:
        stop(folder)
        if not kept:
            shutil.rmtree(folder)


def once(home: Path, name: str, load: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Load what `home` is to hold, unless it does since an earlier run; return what was noted."""
    note = home / f"{name}.json"
    if not note.exists():
        note.write_text(json.dumps(load()), encoding="utf-8")
    noted: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
    return noted


def refuse_half_loaded(store: PostgresStore, home: Path) -> None:
    """End the program when an earlier run broke off while it loaded; its ids would go on."""
    if store.collections():
        raise SystemExit(f"an earlier run broke off while it loaded: remove {home}")
