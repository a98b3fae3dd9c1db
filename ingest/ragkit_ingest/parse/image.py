"""Parse pictures: the text in them, read by OCR; a TIFF's pages one after the other."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse import ocr
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.pdf.aligned import with_aligned
from ragkit_ingest.parse.pdf.columns import in_reading_order
from ragkit_ingest.parse.pdf.write_page import words_of, write

if TYPE_CHECKING:
    from PIL.Image import Image

NO_TEXT = "a picture in which OCR found no text"
_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
_MAX_PIXELS = 80_000_000  # arbitrary: A3 at 600 dots per inch has 70 million
_MAX_SIDE = 2000  # pixels: what OCR would reduce the picture to
_MAX_PAGES = 1000  # arbitrary


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Read a picture's text. Raises IngestError without the extra, for what is damaged or huge."""
    if reason := ocr.refusal(options.ocr):
        raise IngestError("parse", reason)
    builder = Builder()
    reader: ocr.Reader | None = None
    blank = 0
    for number, (pixels, count) in enumerate(_pictures(data), 1):
        reader = reader or ocr.Reader(count)
        lines = with_aligned(in_reading_order(reader.read(pixels)))
        blank += not lines
        if lines and count > 1:
            builder.page(number)
        write(lines, {}, words_of([lines]), builder)
    return replace(builder.result(), notes={"pages without text": blank} if blank else {})


def _pictures(data: bytes) -> Iterator[tuple[Any, int]]:
    """Give the pictures of a file as OCR wants them, each with how many there are."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            has_frames = image.format == "TIFF"  # frames of other formats are a film's
            count = min(getattr(image, "n_frames", 1), _MAX_PAGES) if has_frames else 1
            for index in range(count):
                image.seek(index)
                yield _pixels(image), count
    except UnidentifiedImageError as error:
        raise IngestError("parse", "not really a picture that can be read") from error
    except Image.DecompressionBombError as error:
        raise IngestError("parse", _too_large()) from error
    except (OSError, ValueError, SyntaxError, EOFError, struct.error) as error:
        raise IngestError("parse", "truncated or damaged picture") from error


def _pixels(image: Image) -> Any:
    """Turn a picture upright, make it no larger than OCR would, and lay it on white."""
    import numpy
    from PIL import Image as images
    from PIL import ImageOps

    if image.width * image.height > _MAX_PIXELS:
        raise IngestError("parse", _too_large())
    image.draft("RGB", (_MAX_SIDE, _MAX_SIDE))  # a JPEG need not be unpacked in full
    factor = max(image.width, image.height) // _MAX_SIDE
    small = image.reduce(factor) if factor > 1 and image.mode not in {"P", "1"} else image
    small = ImageOps.exif_transpose(small)
    white = images.new("RGBA", small.size, "white")
    white.alpha_composite(small.convert("RGBA"))
    white.thumbnail((_MAX_SIDE, _MAX_SIDE))
    return numpy.asarray(white.convert("RGB"))[:, :, ::-1].copy()


def _too_large() -> str:
    return f"a picture of more than {_MAX_PIXELS // 1_000_000} million pixels"
