"""Where tests find the checkout and the real test data, however deep they stand themselves."""

import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("RAGKIT_TEST_DATA", ROOT.parent / "shared" / "data"))


def passable_folder() -> Path:
    """Make a folder that others may pass: as root PostgreSQL runs as another user."""
    folder = Path(tempfile.mkdtemp(prefix="ragkit-tests-"))
    folder.chmod(0o711)
    return folder
