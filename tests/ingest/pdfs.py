"""PDFs made on the spot, object by object, so that tests say what each is made of."""

from collections.abc import Sequence

HEIGHT = 792
COURIER = 0.6  # a character's width in font sizes
_CHINESE = (
    "/Type /Font /Subtype /Type0 /BaseFont /{name} /Encoding /UniGB-UCS2-H /DescendantFonts"
    " [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /{name} /DW 1000 /CIDSystemInfo"
    " << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> >>]"
)
# What pages call them: Courier is F1, object 3 of each file.
FONTS = {
    "F2": "/Type /Font /Subtype /Type1 /BaseFont /Courier-Bold",
    "F3": "/Type /Font /Subtype /Type1 /BaseFont /Times-Roman",
    "F4": "/Type /Font /Subtype /Type1 /BaseFont /Times-Bold",
    "F5": _CHINESE.format(name="STSong-Light"),
    "F6": _CHINESE.format(name="SimHei"),
}


def text(
    x: float, y: float, line: str, *, size: float = 12, font: str = "F1", turn: str = "1 0 0 1"
) -> str:
    """Set a line with its baseline's left end at a place; `turn`: the text's matrix."""
    if font in {"F5", "F6"}:
        shown = f"<{line.encode('utf-16-be').hex()}>"
    else:
        escaped = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        shown = f"({escaped})"
    return f"BT /{font} {size} Tf {turn} {x} {y} Tm {shown} Tj ET\n"


def column(
    x: float,
    top: float,
    lines: Sequence[str],
    *,
    step: float = 14,
    size: float = 12,
    font: str = "F1",
) -> str:
    """Set lines below each other; an empty one is a gap."""
    return "".join(
        text(x, top - step * n, line, size=size, font=font) for n, line in enumerate(lines) if line
    )


def rule(x0: float, y0: float, x1: float, y1: float) -> str:
    """Draw a line."""
    return f"{x0} {y0} m {x1} {y1} l S\n"


def grid(xs: Sequence[float], ys: Sequence[float]) -> str:
    """Draw all lines of a table."""
    level = [rule(xs[0], y, xs[-1], y) for y in ys]
    return "".join(level + [rule(x, ys[0], x, ys[-1]) for x in xs])


def image(width: int, height: int, grey: bytes) -> bytes:
    """Make an image object of one byte a pixel; a page shows it as /I1."""
    head = (
        f"<< /Type /XObject /Subtype /Image /Width {width} /Height {height}"
        f" /ColorSpace /DeviceGray /BitsPerComponent 8 /Length {len(grey)} >>\nstream\n"
    )
    return head.encode() + grey + b"\nendstream"


SHOW_IMAGE = "q 612 0 0 792 0 0 cm /I1 Do Q\n"


def pdf(
    pages: Sequence[str],
    *,
    info: str = "",
    catalog: str = "",
    page: str = "",
    picture: bytes = b"",
    extra: Sequence[str] = (),
) -> bytes:
    """Write a PDF of pages, each a content stream.

    `info`, `catalog` and `page` are added to these dictionaries, `extra` are further objects,
    numbered from 5 on; objects 1 to 4 are the catalog, the page tree, the font and the info.
    """
    first = 5 + len(extra) + bool(picture)
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(pages)))
    shown = f" /XObject << /I1 {5 + len(extra)} 0 R >>" if picture else ""
    fonts = " ".join(f"/{name} << {body} >>" for name, body in FONTS.items())
    objects: list[bytes] = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode(),
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
        f"<< {info} >>".encode("latin-1"),
        *(one.encode("latin-1") for one in extra),
        *([picture] if picture else []),
    ]
    for n, content in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 {HEIGHT}] {page}"
            f" /Contents {first + 2 * n + 1} 0 R"
            f" /Resources << /Font << /F1 3 0 R {fonts} >>{shown} >> >>".encode()
        )
        stream = content.encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    return assembled(objects, "/Root 1 0 R /Info 4 0 R")


def assembled(objects: Sequence[bytes], trailer: str) -> bytes:
    """Put objects, numbered from 1 on, into a file."""
    out = b"%PDF-1.4\n"
    offsets: list[int] = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    return out + (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer << /Size {size} {trailer} >>\nstartxref\n{len(out)}\n%%EOF\n"
    ).encode("latin-1")
