"""The tables of formats and metrics name what the code has, and nothing else."""

import re
from collections.abc import Iterator

from ragkit.documents.formats import MEDIA_TYPES, UPLOADED
from ragkit_eval.metrics.registry import names, text_metric
from ragkit_eval.retrieval.measures import MEASURES
from ragkit_ingest.parse.formats import MODULES
from tests.places import ROOT

SUFFIX = re.compile(r"\.[a-z0-9]+(?:\.[a-z0-9]+)?")


def first_cells(page: str) -> Iterator[str]:
    """Yield the first cell of each row of a page's first table, without its head."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    rows = text.partition("\n|---")[2].partition("\n\n")[0].splitlines()[1:]
    return (row.split("|")[1].strip() for row in rows)


def test_every_format_but_source_code_is_in_the_table() -> None:
    cells = list(first_cells("formats.md"))
    assert any(cell.startswith("source code") for cell in cells)
    listed = {suffix for cell in cells for suffix in SUFFIX.findall(cell)}
    code = {suffix for suffix, module in MODULES.items() if module.startswith("code.")}
    assert listed - MEDIA_TYPES.keys() - set(UPLOADED) == set()
    assert (MEDIA_TYPES.keys() | set(UPLOADED)) - code - listed == set()


def test_every_metric_is_in_the_table() -> None:
    listed = {name for cell in first_cells("metrics.md") for name in re.findall("`(.+?)`", cell)}
    assert {kind(name) for name in listed} == {kind(name) for name in names()}
    for name in listed - {"bertscore:MODEL"}:
        text_metric(name.replace("N", "2"))


def kind(name: str) -> str:
    """Return a metric's name without its options and numbers, which users choose."""
    return re.sub(r"(?<=rouge-)N|:.*|\d$", "", name)


def test_every_retrieval_measure_is_named() -> None:
    text = (ROOT / "docs/metrics.md").read_text("utf-8")
    section = text.partition("## Retrieval")[2].partition("\n## ")[0]
    assert [name for name in MEASURES if f"`{name}" not in section] == []
