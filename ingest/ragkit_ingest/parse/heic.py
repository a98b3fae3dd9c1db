"""Parse a picture as telephones take it (.heic), which heif-convert makes a .png of first."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ragkit.errors import IngestError
from ragkit.system.converters import HEIF
from ragkit.types import ParsedText
from ragkit_ingest.parse import image, ocr
from ragkit_ingest.parse.external_program import convert
from ragkit_ingest.parse.options import ParseOptions

_TIMEOUT_S: Final = 60  # arbitrary: a large one takes a second
_AS_JPEG: Final = "save it as .jpg"


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Read a picture's text; the first one, where a file has several.

    Raises IngestError without the extra `ocr` or without heif-convert, and for what is damaged.
    """
    if reason := ocr.refusal(options.ocr):
        raise IngestError("parse", reason)
    program = HEIF.path()
    if not program:
        reason = f"a HEIC picture: install heif-convert (libheif-examples), or {_AS_JPEG}"
        raise IngestError("parse", reason)
    with TemporaryDirectory(prefix="ragkit-") as place:
        folder = Path(place)
        (folder / "picture.heic").write_bytes(data)
        command = [program, "picture.heic", "picture.png"]
        convert(command, folder, timeout_s=_TIMEOUT_S, name=HEIF.name, remedy=_AS_JPEG)
        # Of several pictures each has a number, the first one 1.
        made = [folder / "picture.png", folder / "picture-1.png"]
        picture = next((path for path in made if path.is_file()), None)
        if picture is None:
            raise IngestError("parse", f"damaged, or no HEIC picture, as its name says: {_AS_JPEG}")
        return image.parse(picture.read_bytes(), options)
