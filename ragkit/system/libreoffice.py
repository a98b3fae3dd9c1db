"""Where LibreOffice is on this machine, which reads the old formats of Word and PowerPoint."""

from __future__ import annotations

import shutil
from typing import Final

NAMES: Final = ("soffice", "libreoffice")


def program() -> str:
    """Return the path of LibreOffice's program; "" where it is not installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), "")
