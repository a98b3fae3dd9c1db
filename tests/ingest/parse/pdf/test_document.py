"""PDFs: pages, paragraphs from lines, outline, encrypted and damaged files, no text layer."""

from collections.abc import Sequence

import pytest

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse import ParseOptions, parse_bytes
from tests.ingest.pdfs import assembled
from tests.places import ROOT

HANDBOOK = ROOT / "examples" / "handbook" / "rl-400-manual.pdf"
LINE_STEP = 14


def parse(data: bytes) -> ParsedText:
    return parse_bytes(data, ".pdf", ParseOptions(unzipped_bytes=1 << 20))


def make_pdf(
    pages: Sequence[Sequence[str]], *, title: str = "", outline: str = "", encrypt: bool = False
) -> bytes:
    """Write a PDF of lines in 12-point Courier, 14 points apart; an empty line is a gap."""
    objects: list[bytes] = []

    def add(body: str | bytes) -> int:
        objects.append(body.encode("latin-1") if isinstance(body, str) else body)
        return len(objects)

    catalog, tree, font = add(""), add(""), add("")
    objects[font - 1] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>"
    kids: list[int] = []
    for lines in pages:
        shows = "".join(
            f"1 0 0 1 72 {720 - LINE_STEP * n} Tm ({line}) Tj\n"
            for n, line in enumerate(lines)
            if line
        )
        content = f"BT /F1 12 Tf {shows} ET"
        stream = add(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        kids.append(
            add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {stream} 0 R"
                f" /Resources << /Font << /F1 {font} 0 R >> >> >>"
            )
        )
    references = " ".join(f"{kid} 0 R" for kid in kids)
    objects[tree - 1] = f"<< /Type /Pages /Kids [{references}] /Count {len(kids)} >>".encode()
    info = add(f"<< /Title ({title}) /Author (A. Writer) >>")
    extra = ""
    if outline:
        item, root = len(objects) + 1, len(objects) + 2
        add(f"<< /Title ({outline}) /Parent {root} 0 R /Dest [{kids[0]} 0 R /Fit] >>")
        add(f"<< /Type /Outlines /First {item} 0 R /Last {item} 0 R /Count 1 >>")
        extra = f" /Outlines {root} 0 R"
    objects[catalog - 1] = f"<< /Type /Catalog /Pages {tree} 0 R{extra} >>".encode()
    trailer = f"/Root {catalog} 0 R /Info {info} 0 R"
    if encrypt:
        secret = "<" + "41" * 32 + ">"
        lock = add(f"<< /Filter /Standard /V 1 /R 2 /O {secret} /U {secret} /P -44 >>")
        trailer += f" /Encrypt {lock} 0 R /ID [<00> <00>]"
    return assembled(objects, trailer)


PAGE_ONE = [
    "1 Mounting",
    "",
    "Fasten the bracket with four bolts of stainless steel and",
    "tighten them. Align the gauge with the built-in level, and re-",
    "store it.",
    "A new paragraph begins below a line that had room for it.",
    "- an item",
    "- another item",
]


def test_lines_become_paragraphs_and_pages_are_numbered() -> None:
    parsed = parse(make_pdf([PAGE_ONE, [], ["Second text."]], title="The manual"))
    assert parsed.text == (
        "1 Mounting\n\n"
        "Fasten the bracket with four bolts of stainless steel and tighten them. Align the gauge"
        " with the built-in level, and restore it.\n\n"
        "A new paragraph begins below a line that had room for it.\n\n"
        "- an item\n\n- another item\n\nSecond text.\n"
    )
    assert [(p.number, parsed.text[p.start : p.start + 6]) for p in parsed.pages] == [
        (1, "1 Moun"),
        (3, "Second"),
    ]
    assert (parsed.title, parsed.metadata) == ("The manual", {"author": "A. Writer"})


@pytest.mark.parametrize("title", ["untitled", "Microsoft Word - plan.docx", "Introduction"])
def test_a_title_that_a_program_wrote_is_none(title: str) -> None:
    assert parse(make_pdf([PAGE_ONE], title=title)).title == ""


def test_the_outline_makes_headings() -> None:
    parsed = parse(make_pdf([PAGE_ONE], outline="1. MOUNTING"))
    first = parsed.blocks[0]
    assert (first.kind, first.level, parsed.text[: first.end]) == ("heading", 1, "1 Mounting")
    assert {block.kind for block in parsed.blocks[1:]} == {"paragraph"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (make_pdf([PAGE_ONE], encrypt=True), "encrypted: it needs a password"),
        (make_pdf([PAGE_ONE])[:300], "truncated PDF"),
        (b"%PDF-1.7\n%%EOF\n", "damaged PDF"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 20, "truncated PDF"),
        (b"PK\x03\x04 not a pdf", "not really a PDF"),
        (b"", "the file is empty (0 bytes)"),
        (make_pdf([[], []]), "no text in it: its pages are blank"),
    ],
)
def test_what_cannot_be_read_is_said(data: bytes, reason: str) -> None:
    with pytest.raises(IngestError) as caught:
        parse(data)
    assert (caught.value.stage, caught.value.reason) == ("parse", reason)


def test_every_truncation_of_a_pdf_ends_in_text_or_a_reason() -> None:
    data = make_pdf([PAGE_ONE], outline="x")
    outcomes: set[str] = set()
    for size in range(0, len(data), 37):
        try:
            outcomes.add(parse(data[:size]).text[:10])
        except IngestError as error:
            outcomes.add(error.reason)
    assert outcomes <= {
        "1 Mounting",
        "truncated PDF",
        "damaged PDF",
        "damaged PDF: none of its pages can be read",
        "not really a PDF",
        "the file is empty (0 bytes)",
        "no text in it: its pages are blank",
    }
    assert "truncated PDF" in outcomes


def test_the_example_manual_reads_well() -> None:
    parsed = parse(HANDBOOK.read_bytes())
    assert [page.number for page in parsed.pages] == [1, 2, 3, 4]
    assert parsed.title == "RL-400 installation and service manual"
    for phrase in (
        # each goes over a line's end
        "Nothing touches the water, so that ice and driftwood do no harm to it.",
        "compare the reading with a staff gauge three times, and store the difference",
        "防雷接地电阻不得大于4欧姆",
    ):
        assert phrase in parsed.text
    assert "\n| Replace the desiccant cartridge | 12 months | OL-4410 |\n" in parsed.text
    assert (
        "\n| E22 | Memory full | Restore the connection; the oldest values are overwritten |\n"
        in (parsed.text)
    )
    assert "\n| 接地电阻 | 不大于4欧姆 |\n" in parsed.text
