"""Scans and pictures: read by OCR with the extra, noticed and named without it."""

import io
import resource
import time
from importlib.util import find_spec

import pypdfium2
import pytest
from PIL import Image

from ragkit.errors import IngestError
from ragkit_ingest.parse import ParseOptions, ocr, parse_bytes
from ragkit_ingest.parser.pool import ParseLimits, ParserPool
from tests.ingest.pdfs import SHOW_IMAGE, column, image, pdf, text
from tests.places import ROOT

needs_ocr = pytest.mark.skipif(
    not ocr.is_installed(), reason="the extra ocr is not installed: pip install 'ragkit[ocr]'"
)
LINES = ["The gauge measures the level", "every sixty seconds."]
READ = "The gauge measures the level every sixty seconds."


def drawn(data: bytes, index: int = 0, *, scale: float = 2, top: float = 1) -> Image.Image:
    """Draw a PDF's page, or the upper part of it."""
    document = pypdfium2.PdfDocument(data)
    picture: Image.Image = document[index].render(scale=scale).to_pil().convert("L")
    document.close()
    return picture.crop((0, 0, picture.width, round(picture.height * top)))


def typed() -> Image.Image:
    return drawn(pdf([column(72, 700, LINES)]), top=0.2)


def saved(picture: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def scan(*, stamp: str = "", others: tuple[str, ...] = ()) -> bytes:
    """A PDF of a page that is a picture, with pages of text before it."""
    picture = drawn(pdf([column(72, 700, LINES)]), scale=1.5)
    picture_object = image(picture.width, picture.height, picture.tobytes())
    return pdf([*others, SHOW_IMAGE + stamp], picture=picture_object)


def words(parsed_text: str) -> str:
    return " ".join(parsed_text.split())


def without_extra(name: str, *_: object) -> object:
    return None if name == "rapidocr" else find_spec(name)


@pytest.fixture
def no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", without_extra)


def reason(data: bytes, suffix: str, options: ParseOptions | None = None) -> str:
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, suffix, options or ParseOptions())
    return caught.value.reason


@needs_ocr
def test_a_scanned_page_is_read_in_its_place() -> None:
    first = text(72, 700, "A page with a text layer.")
    parsed = parse_bytes(scan(others=(first,)), ".pdf")
    assert words(parsed.text) == f"A page with a text layer. {READ}"
    assert [page.number for page in parsed.pages] == [1, 2]
    assert parsed.text[parsed.pages[1].start :].startswith("The gauge")
    assert parsed.notes == {"pages read by OCR": 1}


@needs_ocr
def test_chinese_is_read_and_its_lines_join_without_a_space() -> None:
    manual = (ROOT / "examples" / "handbook" / "rl-400-manual.pdf").read_bytes()
    parsed = parse_bytes(saved(drawn(manual, 3, top=0.22), "PNG"), ".png")
    assert "本页为国内站点的补充要求，安装人员应与前面各章配合使用。" in parsed.text
    assert "太阳能供电的站点，" in parsed.text


@needs_ocr
@pytest.mark.parametrize(
    ("kind", "suffix"), [("JPEG", ".JPG"), ("TIFF", ".tif"), ("WEBP", ".webp"), ("BMP", ".bmp")]
)
def test_pictures_of_each_format_are_read(kind: str, suffix: str) -> None:
    assert words(parse_bytes(saved(typed(), kind), suffix).text) == READ


@needs_ocr
def test_a_turned_photograph_and_a_transparent_ground() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by 90 degrees
    turned = saved(typed().rotate(90, expand=True), "JPEG", exif=exif)
    assert words(parse_bytes(turned, ".jpg").text) == READ
    ink = typed().point(lambda value: 255 - value)
    clear = Image.new("RGBA", ink.size, (0, 0, 0, 0))
    clear.putalpha(ink)
    assert words(parse_bytes(saved(clear, "PNG"), ".png").text) == READ


@needs_ocr
@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_scan_that_lies_on_its_side_or_head_is_turned(degrees: int) -> None:
    lines = [*LINES, "The second paragraph follows below."]
    page = drawn(pdf([column(72, 700, lines)]), top=0.3)
    turned = saved(page.rotate(degrees, expand=True), "PNG")
    assert words(parse_bytes(turned, ".png").text) == " ".join([READ, lines[2]])


@needs_ocr
def test_the_pages_of_a_tiff_and_a_blank_one_among_them() -> None:
    blank = Image.new("L", (600, 200), 255)
    data = saved(typed(), "TIFF", save_all=True, append_images=[blank, typed()])
    parsed = parse_bytes(data, ".tiff")
    assert [page.number for page in parsed.pages] == [1, 3]
    assert words(parsed.text) == f"{READ} {READ}"
    assert parsed.notes == {"pages without text": 1}


@needs_ocr
def test_pictures_without_text() -> None:
    blank = Image.new("L", (600, 200), 255)
    assert reason(saved(blank, "PNG"), ".png") == "a picture in which OCR found no text"
    data = pdf([SHOW_IMAGE], picture=image(2, 2, bytes(4)))
    assert reason(data, ".pdf") == "no text layer, and OCR found no text in its pictures"


@needs_ocr
def test_a_parser_process_reads_a_scan_or_says_what_it_needs() -> None:
    with ParserPool(1, ParseLimits(memory_mb=1536)) as pool:
        assert words(pool.submit(scan(), ".pdf").result().text) == READ
    with ParserPool(1, ParseLimits(memory_mb=1024)) as pool:
        with pytest.raises(IngestError) as caught:
            pool.submit(scan(), ".pdf").result()
        assert caught.value.reason == (
            "OCR needs more memory than the parser may use (1024 MB):"
            " set RAGKIT_PARSE_MEMORY_MB=1536, or RAGKIT_OCR=off"
        )


def limits(kind: int) -> tuple[int, int]:
    return (60, 60) if kind == resource.RLIMIT_CPU else (resource.RLIM_INFINITY,) * 2


def test_too_many_pages_for_the_time_are_said_early(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 14.0, 14.0])
    monkeypatch.setattr(ocr, "_read", lambda pixels: [])
    monkeypatch.setattr(time, "process_time", lambda: next(clock))
    monkeypatch.setattr(resource, "getrlimit", limits)
    reader = ocr.Reader(100)
    reader.read(Pixels())
    with pytest.raises(IngestError) as caught:
        reader.read(Pixels())
    assert caught.value.reason == (
        "OCR of 100 pages takes about 400 s of CPU time, more than the parser may use: raise"
        " RAGKIT_PARSE_CPU_S and RAGKIT_PARSE_WALL_S, or set RAGKIT_OCR=off"
    )


class Pixels:
    shape = (100, 100, 3)


@pytest.mark.usefixtures("no_extra")
def test_without_the_extra_a_scan_is_noticed() -> None:
    message = "which needs OCR: pip install 'ragkit[ocr]'"
    assert reason(scan(), ".pdf") == f"no text layer: a scan, {message}"
    assert reason(saved(typed(), "PNG"), ".png") == f"a picture, {message}"
    parsed = parse_bytes(scan(others=(text(72, 700, "A page of text."),)), ".pdf")
    assert (parsed.text, parsed.notes) == ("A page of text.\n", {"pages without text": 1})


def test_ocr_switched_off() -> None:
    off = ParseOptions(ocr="off")
    message = "and OCR is switched off (RAGKIT_OCR=auto reads it)"
    assert reason(scan(), ".pdf", off) == f"no text layer: a scan, {message}"
    assert reason(saved(typed(), "PNG"), ".png", off) == f"a picture, {message}"
    parsed = parse_bytes(scan(others=(text(72, 700, "A page of text."),)), ".pdf", off)
    assert parsed.notes == {"pages without text": 1}


@pytest.mark.usefixtures("no_extra")
def test_a_stamp_on_each_page_makes_no_scan_a_text() -> None:
    stamp = text(72, 40, "Scanned with a telephone", size=8)
    picture = image(2, 2, bytes(4))
    data = pdf([SHOW_IMAGE + stamp] * 3, picture=picture)
    assert reason(data, ".pdf").startswith("no text layer: a scan")


@needs_ocr
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"nothing like it", "not really a picture that can be read"),
        (saved(typed(), "PNG")[:2000], "truncated or damaged picture"),
        (saved(typed(), "JPEG")[:3000], "truncated or damaged picture"),
        (
            saved(Image.new("1", (20_000, 4_100)), "PNG"),
            "a picture of more than 80 million pixels",
        ),
        (
            saved(Image.new("1", (20_000, 20_000)), "PNG"),
            "a picture of more than 80 million pixels",
        ),
    ],
    ids=["no picture", "truncated PNG", "truncated JPEG", "too large", "bomb"],
)
def test_pictures_that_cannot_be_read(data: bytes, message: str) -> None:
    assert reason(data, ".png") == message
