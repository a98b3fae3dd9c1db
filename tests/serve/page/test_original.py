"""The place of the original page in the panel of a source: for PDFs that can be shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from ragkit.access.library import Caller
from ragkit.documents.content_hash import content_hash
from ragkit.store.jobs.originals import PDF, Originals
from ragkit.testing import FakeEmbedder
from ragkit.types import Chunk, Citation, NewDocument, Page
from ragkit_serve.api.services import Services
from ragkit_serve.page.source import source_html
from ragkit_serve.page.words import WORDS
from tests.ingest.pdfs import column, pdf

TEXT = "Leave is 28 days a year. Unused days lapse in March."


def panel(services: Services, caller: Caller, *cited: Citation) -> str:
    originals = Originals(services.database.pool, caller.tenant, caller.readers)
    store = services.library.store(caller)
    return source_html(store, caller, cited, WORDS["en"], originals)


@pytest.mark.parametrize("media_type", [PDF, "text/markdown"])
def test_a_pdf_has_a_place_for_its_page(
    services: Services, caller: Caller, tmp_path: Path, media_type: str
) -> None:
    path = tmp_path / 'le"ave.pdf'
    data = pdf([column(72, 700, TEXT.split(". "))])
    path.write_bytes(data)
    new = NewDocument(
        uri=str(path),
        content_hash=content_hash(data),
        fingerprint="f",
        text=TEXT,
        chunks=(Chunk(0, 0, len(TEXT), 9, 1),),
        media_type=media_type,
        pages=(Page(0, 1),),
    )
    embedder = FakeEmbedder()
    embedder.load()
    store = services.database.store("default")
    store.create_collection(media_type)
    stored = store.put_document(media_type, new, embedder.space, embedder.embed_passages([TEXT]))
    first = Citation(1, stored.id, str(path), "", 1, 0, 24, TEXT[:24], "verified")
    second = Citation(1, stored.id, str(path), "", 1, 25, 52, TEXT[25:], "verified")
    html = panel(services, caller, second, first)
    figure = (
        f'<figure class="rk-original" data-document="{stored.id}" data-version="1" data-page="1"'
        ' data-marks="0-24 25-52" data-title="le&quot;ave.pdf"></figure>'
    )
    assert (figure in html) == (media_type == PDF)
    assert "Unused days lapse in March." in html, "the text is there, with or without the page"
    old = Citation(1, stored.id, str(path), "", 1, 0, 24, TEXT[:24], "verified", version=9)
    assert "rk-original" not in panel(services, caller, old)
    eve = Caller("default", "eve", collections=("elsewhere",))
    assert "rk-original" not in panel(services, eve, first)


def test_the_pages_own_files_are_served(app: object) -> None:
    client = TestClient(app, base_url="http://127.0.0.1:8080")  # type: ignore[arg-type]
    for name, kind in (("original.js", "text/javascript"), ("original.css", "text/css")):
        answer = client.get(f"/ui/static/{name}")
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, kind)
