"""Programs of this machine that read formats which ragkit does not read itself."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Converter:
    """A program: what people call it, the names of its command, and the formats that it reads."""

    name: str
    commands: tuple[str, ...]
    formats: str

    def path(self) -> str:
        """Return the path of the program; "" where it is not installed."""
        return next((path for name in self.commands if (path := shutil.which(name))), "")


LIBREOFFICE: Final = Converter("LibreOffice", ("soffice", "libreoffice"), ".doc, .ppt")
BSDTAR: Final = Converter("bsdtar", ("bsdtar",), ".7z")
HEIF: Final = Converter("heif-convert", ("heif-dec", "heif-convert"), ".heic")
CONVERTERS: Final = (LIBREOFFICE, BSDTAR, HEIF)
