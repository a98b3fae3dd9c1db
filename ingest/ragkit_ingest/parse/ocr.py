"""Read the text in a picture by OCR, as lines with places (extra `ocr`: rapidocr on ONNX Runtime).

Its models are those that the package brings, for English and Chinese; nothing is downloaded.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from ragkit.errors import IngestError
from ragkit_ingest.parse.pdf.lines import Gap, Line, has_wide, usual_height

REMEDY = "pip install 'ragkit[ocr]'"
_ROW = 0.5  # of a line's height: pieces whose middles are so near stand side by side
_ALIKE = (0.6, 1.5)  # of the usual height: a box's height varies with its letters, not only in size
_UPENDED = 1.5  # times its width: so much higher, a box holds a line that runs up or down
# Means of the recogniser's own scores on our test pages: 0.95 and more where the picture stands
# upright, 0.65 to 0.78 for the same pages upside down or the wrong way round.
_SURE = 0.85
_UNREADABLE = 0.6
# Settings of rapidocr other than its own. A longer side of 960 pixels for finding lines, and lines
# read one by one, take 1.0 GB of address space at 0.4 GB resident instead of 1.7 at 0.9, and
# half the time, with the same text read on our test pages. Its own look for lines upside
# down stays off: what is read tells that too.
_SETTINGS = {
    "Global.log_level": "critical",
    "Global.use_cls": False,
    "Det.limit_type": "max",
    "Det.limit_side_len": 960,
    "Rec.rec_batch_num": 1,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}
_MEMORY_MB = 1536  # of address space: 1.0 to 1.2 GB measured, and the file itself
_MAX_RATIO = 20  # arbitrary, of a picture's sides; till receipts are 10
_OUT_OF_MEMORY = ("bad_alloc", "Failed to allocate", "Insufficient memory", "OutOfMemory")


def is_installed() -> bool:
    """Say whether the extra is there."""
    return all(find_spec(name) is not None for name in ("rapidocr", "onnxruntime"))


def refusal(setting: Literal["auto", "off"], *, many: bool = False) -> str:
    """Say why a picture, or many, are not read, and what to do; nothing where they are."""
    subject, need, it = ("pictures", "need", "them") if many else ("a picture", "needs", "it")
    if setting == "off":
        return f"{subject}, and OCR is switched off (RAGKIT_OCR=auto reads {it})"
    return "" if is_installed() else f"{subject}, which {need} OCR: {REMEDY}"


class Reader:
    """Reads pictures, told how many there are, so that what takes too long is said early."""

    def __init__(self, pictures: int) -> None:
        self._left = pictures
        self._done = 0
        self._spent_s = 0.0

    def read(self, pixels: Any) -> list[Line]:
        """Read the text in a picture: an array of height x width x 3, blue first.

        Places count in pixels, upwards. Raises IngestError when the process may not use the
        memory, or the CPU time for all the pictures; MemoryError when memory runs out.
        """
        height, width = pixels.shape[:2]
        if max(height, width) > _MAX_RATIO * min(height, width):
            return []  # a line, which would be made millions of pixels long
        self._check_limits()
        begin = time.process_time()
        boxes = _read(pixels)
        self._spent_s += time.process_time() - begin
        self._done += 1
        self._left -= 1
        return boxes

    def _check_limits(self) -> None:
        limit_bytes = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit_bytes != resource.RLIM_INFINITY and limit_bytes < _MEMORY_MB << 20:
            raise IngestError(
                "parse",
                f"OCR needs more memory than the parser may use ({limit_bytes >> 20} MB):"
                f" set RAGKIT_PARSE_MEMORY_MB={_MEMORY_MB}, or RAGKIT_OCR=off",
            )
        limit_s = resource.getrlimit(resource.RLIMIT_CPU)[0]
        if not self._done or limit_s == resource.RLIM_INFINITY:
            return
        each_s = self._spent_s / self._done
        if each_s * self._left > limit_s - time.process_time():
            total = self._done + self._left
            raise IngestError(
                "parse",
                f"OCR of {total} pages takes about {each_s * total:.0f} s of CPU time, more than"
                " the parser may use: raise RAGKIT_PARSE_CPU_S and RAGKIT_PARSE_WALL_S, or set"
                " RAGKIT_OCR=off",
            )


@dataclass(frozen=True)
class _Reading:
    """What was read in a picture: texts, their corners, and how sure it is of all, from 0 to 1."""

    texts: Sequence[str]
    corners: Sequence[Any]
    score: float

    @property
    def is_upended(self) -> bool:
        """Say whether most of the text stands in boxes higher than wide."""
        upended = total = 0
        for text, corners in zip(self.texts, self.corners, strict=True):
            width, height = (max(axis) - min(axis) for axis in zip(*corners, strict=True))
            total += len(text)
            upended += len(text) if height > _UPENDED * width and len(text) > 2 else 0
        return 2 * upended > total


def _read(pixels: Any) -> list[Line]:
    reading = _recognise(pixels)
    for turn in _turns(reading):
        turned = _recognise(_turned(pixels, turn))
        if turned.score > reading.score or (reading.is_upended and turned.score >= _SURE):
            reading = turned
    if reading.score < _UNREADABLE:
        return []
    return _lines(list(zip(reading.texts, reading.corners, strict=True)))


def _turns(reading: _Reading) -> tuple[int, ...]:
    """Give by how many quarters to turn a picture, counter-clockwise, to read it once more.

    Lines that run downwards are read well where they stand; only their places are wrong.
    """
    if not reading.texts:
        return ()
    is_sure = reading.score >= _SURE
    if reading.is_upended:
        return (1,) if is_sure else (3,)
    return () if is_sure else (2,)


def _turned(pixels: Any, quarters: int) -> Any:
    numpy = import_module("numpy")
    return numpy.ascontiguousarray(numpy.rot90(pixels, quarters))


def _recognise(pixels: Any) -> _Reading:
    failures = (
        import_module("cv2").error,
        import_module("onnxruntime.capi.onnxruntime_pybind11_state").Fail,
        import_module("onnxruntime.capi.onnxruntime_pybind11_state").RuntimeException,
        import_module("rapidocr.inference_engine.onnxruntime.main").ONNXRuntimeError,
    )
    try:
        result = _engine()(pixels)
    except failures as error:
        if any(sign in str(error) for sign in _OUT_OF_MEMORY):
            raise MemoryError from error
        message = " ".join(str(error).split())[-200:]
        raise IngestError("parse", f"OCR failed: {message}") from error
    boxes, texts = getattr(result, "boxes", None), getattr(result, "txts", None)
    if boxes is None or texts is None:
        return _Reading((), (), 1.0)
    chars = sum(map(len, texts))
    sums = (len(text) * score for text, score in zip(texts, result.scores, strict=True))
    return _Reading(texts, boxes, sum(sums) / max(chars, 1))


@lru_cache(maxsize=1)
def _engine() -> Any:
    """Load the models that the package brings; their paths are given so that it fetches none."""
    rapidocr = import_module("rapidocr")
    folder = Path(str(rapidocr.__file__)).parent / "models"
    paths = {}
    for part in ("Det", "Rec"):
        models = sorted(folder.glob(f"*_{part.lower()}_*.onnx"))
        if not models:
            raise IngestError("parse", f"rapidocr came without its models: {REMEDY} once more")
        paths[f"{part}.model_path"] = str(models[-1])
    return rapidocr.RapidOCR(params={**_SETTINGS, **paths})


def _lines(boxes: Sequence[tuple[str, Any]]) -> list[Line]:
    """Make lines of texts and their corners; what stands side by side becomes one, with gaps."""
    pieces = [_piece(text, corners) for text, corners in boxes if text.strip()]
    usual = usual_height(pieces)
    rows: list[list[Line]] = []
    for piece in sorted(pieces, key=lambda piece: -piece.middle):
        if rows and abs(rows[-1][0].middle - piece.middle) < _ROW * piece.height:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [_row(sorted(row, key=lambda piece: piece.left), usual) for row in rows]


def _piece(text: str, corners: Any) -> Line:
    xs = [float(x) for x, _ in corners]
    ys = [-float(y) for _, y in corners]
    return Line(" ".join(text.split()), min(xs), max(xs), min(ys), max(ys) - min(ys))


def _row(row: Sequence[Line], usual: float) -> Line:
    height = max(piece.height for piece in row)
    middle = sum(piece.middle for piece in row) / len(row)
    if _ALIKE[0] * usual <= height <= _ALIKE[1] * usual:
        height = usual
    gaps: list[Gap] = []
    for place, piece in enumerate(row):
        if place:
            gaps.append((row[place - 1].right, max(piece.left, row[place - 1].right)))
        step = (piece.right - piece.left) / len(piece.text)
        spaces = (n for n, char in enumerate(piece.text) if char == " ")
        gaps += [(at, at) for at in (piece.left + n * step for n in spaces)]
    text = " ".join(piece.text for piece in row)
    bottom = middle - height / 2
    wide = has_wide(gaps, height)
    return Line(text, row[0].left, row[-1].right, bottom, height, tuple(gaps), wide)
