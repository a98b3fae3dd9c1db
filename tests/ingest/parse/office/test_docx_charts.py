"""Word: a chart's title and figures stand as a table where the chart is drawn."""

from ragkit_ingest.parse import ParseOptions, parse_bytes
from tests.ingest.parse.office.test_office import docx_of, paragraph

C = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def _drawing(relation: str) -> str:
    return (
        f'<w:p><w:r><w:drawing><a:graphic {A}><a:graphicData><c:chart {C} {R} r:id="{relation}"/>'
        "</a:graphicData></a:graphic></w:drawing></w:r></w:p>"
    )


def _points(values: tuple[str, ...]) -> str:
    return "".join(f'<c:pt idx="{n}"><c:v>{value}</c:v></c:pt>' for n, value in enumerate(values))


def _title(text: str) -> str:
    runs = f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"
    return f"<c:title><c:tx><c:rich>{runs}</c:rich></c:tx></c:title>"


def _chart(title: str, axis: str) -> str:
    series = (
        f"<c:ser><c:tx><c:strRef><c:strCache>{_points((name,))}</c:strCache></c:strRef></c:tx>"
        f"<c:cat><c:strRef><c:strCache>{_points(('2024', '2025'))}</c:strCache></c:strRef></c:cat>"
        f"<c:val><c:numRef><c:numCache>{_points(values)}</c:numCache></c:numRef></c:val></c:ser>"
        for name, values in (("Pumps", ("310", "342")), ("Filters", ("95", "120")))
    )
    return (
        f"<c:chart {C} {A}>{_title(title) if title else ''}<c:plotArea><c:barChart>"
        f"{''.join(series)}</c:barChart><c:catAx>{_title(axis) if axis else ''}</c:catAx>"
        "</c:plotArea></c:chart>"
    )


def _parse(body: str, charts: dict[str, str]) -> str:
    options = ParseOptions(unzipped_bytes=1 << 20)
    return parse_bytes(docx_of(body, parts=charts), ".docx", options).text


def test_a_chart_is_a_table_at_its_place() -> None:
    body = paragraph("Before.") + _drawing("r0") + paragraph("After.")
    assert _parse(body, {"chart": _chart("Units sold", "Year")}) == (
        "Before.\n\nUnits sold\n\n| Year | Pumps | Filters |\n| - | - | - |\n"
        "| 2024 | 310 | 95 |\n| 2025 | 342 | 120 |\n\nAfter.\n"
    )


def test_a_chart_without_titles_has_its_figures() -> None:
    text = _parse(paragraph("Before.") + _drawing("r0"), {"chart": _chart("", "")})
    assert text == (
        "Before.\n\n|  | Pumps | Filters |\n| - | - | - |\n| 2024 | 310 | 95 |\n"
        "| 2025 | 342 | 120 |\n"
    )


def test_a_chart_that_is_not_in_the_file_is_nothing() -> None:
    assert _parse(paragraph("Before.") + _drawing("other"), {}) == "Before.\n"
    empty = f"<c:chart {C}/>"
    assert _parse(paragraph("Before.") + _drawing("r0"), {"chart": empty}) == "Before.\n"
