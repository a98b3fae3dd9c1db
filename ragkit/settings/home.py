"""ragkit's home: where it is unless it is set, and how it is made."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from platformdirs import user_data_path

from ragkit.system.private_files import FOLDER_MODE, make_private

ROOTS_HOME: Final = Path("/var/lib/ragkit")


def default_home() -> Path:
    """Choose the user's data folder; for root, another one where only root may enter it.

    PostgreSQL does not run as root, and no folder is opened up to let its account in.
    """
    usual = user_data_path("ragkit")
    if os.geteuid() != 0 or (usual / "postgres").exists():
        return usual
    folders = [folder for folder in usual.parents if folder.is_dir()]
    return usual if all(folder.stat().st_mode & stat.S_IXOTH for folder in folders) else ROOTS_HOME


def make_home(home: Path) -> None:
    """Make ragkit's home.

    PostgreSQL does not run as root: what root makes may be passed by its account, but not listed.
    Raises OSError.
    """
    make_private(home, mode=0o711 if os.geteuid() == 0 else FOLDER_MODE)
