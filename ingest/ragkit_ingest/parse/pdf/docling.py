"""Parse PDFs by docling (extra `docling`): its layout and table models instead of our own rules.

The models must be on this machine already; nothing is downloaded.
"""

from __future__ import annotations

import io
import os
import resource
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder

REMEDY = "pip install 'ragkit[docling]', or set RAGKIT_PDF_LAYOUT=text"
_MODELS = (
    "docling's models are not on this machine: run `docling-tools models download` where there is"
    " a network, or set RAGKIT_PDF_LAYOUT=text"
)
_MEMORY_MB = 8192  # arbitrary: PyTorch and two models, of address space
_HEADINGS = {"title": 1, "section_header": 1}  # added to an item's own level, which a title lacks


def parse(data: bytes, metadata: Mapping[str, str], title: str) -> ParsedText:
    """Parse a PDF, of which metadata and title are known already.

    Raises IngestError without the extra, without its models, and for what docling cannot read.
    """
    if find_spec("docling") is None:
        raise IngestError("parse", f"this collection's PDFs are read by docling: {REMEDY}")
    _check_memory()
    document = _converted(data)
    builder = Builder()
    last = 0
    for item, _ in document.iterate_items():  # headers and footers are left out
        page = _page(item)
        if page > last:
            builder.page(page)
            last = page
        _write(item, builder)
    return builder.result(title=title, metadata=dict(metadata))


def _check_memory() -> None:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < _MEMORY_MB << 20:
        raise IngestError(
            "parse",
            f"docling needs more memory than the parser may use ({limit >> 20} MB):"
            f" set RAGKIT_PARSE_MEMORY_MB={_MEMORY_MB} and raise RAGKIT_PARSE_CPU_S",
        )


def _converted(data: bytes) -> Any:
    """Convert a PDF; what docling raises is said in one line."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # read when docling is first imported
    stream = import_module("docling.datamodel.base_models").DocumentStream
    refusals = import_module("docling.exceptions").BaseError
    try:
        result = _converter().convert(stream(name="file.pdf", stream=io.BytesIO(data)))
    except (FileNotFoundError, ConnectionError) as error:
        raise IngestError("parse", _MODELS) from error
    except refusals as error:
        message = " ".join(str(error).split())[:200]
        raise IngestError("parse", f"docling cannot read it: {message}") from error
    return result.document


@lru_cache(maxsize=1)
def _converter() -> Any:
    """Make the converter, which keeps its models: no OCR, and no plug-ins or remote services."""
    base = import_module("docling.datamodel.base_models")
    options = import_module("docling.datamodel.pipeline_options").PdfPipelineOptions(do_ocr=False)
    settings = import_module("docling.datamodel.settings").settings
    downloaded = settings.cache_dir / "models"  # where docling-tools puts them
    if settings.artifacts_path is None and downloaded.is_dir():
        options.artifacts_path = downloaded
    converter = import_module("docling.document_converter")
    form = converter.PdfFormatOption(pipeline_options=options)
    return converter.DocumentConverter(
        allowed_formats=[base.InputFormat.PDF], format_options={base.InputFormat.PDF: form}
    )


def _page(item: Any) -> int:
    places = getattr(item, "prov", None)
    return int(places[0].page_no) if places else 0


def _write(item: Any, builder: Builder) -> None:
    kind = str(getattr(item.label, "value", item.label))
    if kind in {"table", "document_index"}:
        builder.table([[cell.text for cell in row] for row in item.data.grid])
        return
    text = getattr(item, "text", "")
    if kind in _HEADINGS:
        builder.heading(getattr(item, "level", 0) + _HEADINGS[kind], text, mark=False)
    elif kind == "list_item":
        builder.item(text, marker=getattr(item, "marker", "") or "-")
    elif kind == "code":
        builder.code(text)
    elif text:
        builder.paragraph(text)
