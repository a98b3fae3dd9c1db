"""The tabs for documents and for searching in a real browser: sorted, selected, read, deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ragkit.testing import FakeEmbedder
from ragkit.testing.corpus import fill, new_document
from ragkit_serve.page import routes
from ragkit_serve.page.words import WORDS
from tests.serve.browser.conftest import PHONE, ready
from tests.serve.browser.test_page import no_sideways, shows, state_of, tab, until

pytestmark = pytest.mark.browser
EN, ZH = WORDS["en"], WORDS["zh"]
ALPHABET = "abcdefghij"
ADD_FAILED = """
    INSERT INTO job (tenant, collection_id, kind, uri, uri_key, name, state, reason)
    SELECT tenant, id, 'upload', 'upload:broken.pdf', '', 'broken.pdf', 'failed', 'torn'
    FROM collection WHERE name = 'shelf'
"""


@pytest.fixture
def shelf(site: Any) -> Iterator[str]:
    """A collection of ten small documents, Report a to Report j, and one failed upload."""
    store = site.services.library.store(site.caller())
    new = [
        new_document(f"folder/{name}.md", f"Text {name}. " * (n + 1), title=f"Report {name}")
        for n, name in enumerate(ALPHABET)
    ]
    fill(store, FakeEmbedder(), new, collection="shelf")
    with site.services.database.pool.connection() as conn:
        conn.execute(ADD_FAILED)
    yield "shelf"
    store.delete_collection("shelf")


def open_shelf(open_page: Callable[..., Any], **options: Any) -> Any:
    page = open_page(**options)
    page.select_option("#rk-collection", "shelf", force=True)
    tab(page, 1)
    shows(page, "#rk-table", "Report a")
    return page


def titles(page: Any) -> list[str]:
    names = page.locator("#rk-table tbody .rk-name").all_inner_texts()
    return [name.split("\n")[0].removeprefix("Report ") for name in names]


def sorted_by(page: Any) -> dict[str, str]:
    heads = page.locator("#rk-table th[aria-sort]")
    return {
        head.locator("button").get_attribute("data-sort"): head.get_attribute("aria-sort")
        for head in heads.all()
    }


def test_the_list_is_sorted_by_buttons_that_say_how(open_page: Any, shelf: str) -> None:
    page = open_shelf(open_page)
    assert sorted_by(page) == {
        **{"name": "none", "type": "none", "size": "none", "date": "descending", "state": "none"}
    }
    assert page.locator("#rk-table thead button").first.inner_text().split()[0] == EN["column_name"]
    page.focus("[data-sort=name]")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('th[aria-sort=ascending]')")
    assert titles(page) == ["broken.pdf", *ALPHABET]
    assert page.evaluate("document.activeElement.dataset.sort") == "name", "the focus stays"
    page.keyboard.press("Enter")
    until(page, "document.querySelector('th[aria-sort=descending] [data-sort=name]')")
    assert titles(page) == [*reversed(ALPHABET), "broken.pdf"]
    page.click("[data-sort=size]")
    until(page, "document.querySelector('th[aria-sort=descending] [data-sort=size]')")
    assert titles(page) == [*reversed(ALPHABET), "broken.pdf"]
    row = page.locator("#rk-table tbody tr").first
    assert row.locator(".rk-size").inner_text() == EN["size_of_text"].format(size="80 bytes")
    assert row.locator(".rk-size").get_attribute("title") == EN["size_is_text"]
    assert row.locator(".rk-file").inner_text() == "j.md"


def test_several_documents_are_deleted_after_one_question(open_page: Any, shelf: str) -> None:
    page = open_shelf(open_page)
    asked: list[str] = []

    def accept(dialog: Any) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.on("dialog", accept)
    for name in "ace":
        page.get_by_label(EN["select_file"].format(name=f"Report {name}"), exact=True).check()
    shows(page, "#rk-selected", EN["selected"].format(count=3))
    assert page.locator("[data-all]").evaluate("box => box.indeterminate")
    page.click("#rk-delete-selected")
    shows(page, "#rk-counted", EN["files_deleted"].format(count=3))
    assert asked == [EN["delete_files_sure"].format(count=3)]
    assert sorted(titles(page)) == ["b", "broken.pdf", *"dfghij"]
    assert page.locator("#rk-selected").is_hidden()
    page.get_by_label(EN["select_all"]).check()
    shows(page, "#rk-selected", EN["selected"].format(count=8))
    page.locator("#rk-selected").get_by_text(EN["select_none"]).click()
    assert page.locator("#rk-selected").is_hidden()


def test_what_cannot_be_deleted_is_named(open_page: Any, shelf: str) -> None:
    page = open_shelf(open_page)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label(EN["select_file"].format(name="Report a"), exact=True).check()
    page.get_by_label(EN["select_file"].format(name="Report b"), exact=True).check()
    number = page.locator("tr", has_text="Report b").get_attribute("data-id")

    def refuse(route: Any) -> None:
        told = {"error": {"message": "the disk is full", "code": "x"}}
        route.fulfill(status=500, json=told)

    page.route(f"**/v1/documents/{number}", refuse)
    page.click("#rk-delete-selected")
    page.wait_for_selector("#rk-documents .rk-guarded")
    shown = page.inner_text("#rk-documents .rk-guarded")
    assert EN["not_deleted"].format(name="Report b", reason="the disk is full") in shown
    assert "a" not in titles(page)
    assert "b" in titles(page)


def test_a_failed_upload_is_tried_again_or_removed(
    open_page: Any, site: Any, shelf: str, tmp_path: Any
) -> None:
    page = open_shelf(open_page)
    row = page.locator("#rk-table tr", has_text="broken.pdf")
    assert EN["state_failed"] in row.inner_text()
    assert "torn" in row.inner_text()
    row.get_by_text(EN["forget"]).click()
    until(page, "!document.querySelector('#rk-table').innerText.includes('broken.pdf')")
    file = tmp_path / "torn.pdf"
    file.write_bytes(b"%PDF-1.7 and nothing more")
    page.locator("#rk-upload input").set_input_files([file])
    until(page, state_of("torn.pdf", EN["state_failed"]))
    with page.expect_request("**/v1/collections/shelf/documents") as sent:
        page.locator("#rk-table").get_by_text(EN["retry"]).click()
    assert sent.value.method == "POST"
    page.reload()
    ready(page)


def test_more_than_a_page_is_shown_on_request(
    open_page: Any, shelf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = routes.FOLDER / "documents.js"
    smaller = scripts.read_text().replace("const PAGE = 500;", "const PAGE = 4;")
    assert smaller != scripts.read_text()
    page = open_page()
    page.route(
        "**/ui/static/documents.js",
        lambda route: route.fulfill(body=smaller, content_type="text/javascript"),
    )
    page.reload()
    ready(page)
    page.select_option("#rk-collection", shelf)
    tab(page, 1)
    shows(page, "#rk-counted", EN["documents_shown"].format(shown=4, all=11))
    page.click("#rk-more")
    shows(page, "#rk-counted", EN["documents_shown"].format(shown=8, all=11))
    page.click("#rk-more")
    shows(page, "#rk-counted", EN["documents_shown"].format(shown=11, all=11))
    assert page.locator("#rk-more").is_hidden()
    page.fill("#rk-part", "report c")
    shows(page, "#rk-counted", EN["documents_first"].format(shown=1, matched=1, all=11))
    page.fill("#rk-part", "nowhere")
    shows(page, "#rk-listed", EN["none_named"].format(part="nowhere"))


def test_a_document_is_read_and_its_facts_are_folded(open_page: Any, site: Any) -> None:
    page = open_page(locale="zh-CN")
    tab(page, 1)
    page.get_by_role("button", name="RL-400 installation and service manual").click()
    shows(page, "#rk-document-text", ZH["page"].format(page=2))
    assert page.locator("#rk-files").is_hidden()
    assert page.evaluate("document.activeElement.id") == "rk-document-name"
    assert ZH["type_pdf"] in page.inner_text("#rk-document > .rk-hint")
    facts = page.locator(".rk-facts")
    assert not facts.locator("dl").is_visible()
    facts.locator("summary").click()
    assert ZH["column_version"] in facts.inner_text()
    with page.expect_download() as download:
        page.get_by_text(ZH["save_file"]).click()
    assert download.value.suggested_filename == "rl-400-manual.pdf"
    page.click("#rk-back")
    assert page.locator("#rk-files").is_visible()
    assert page.evaluate("document.activeElement.innerText").startswith("RL-400")


def test_a_phone_shows_cards_and_needs_no_sideways_scroll(open_page: Any, shelf: str) -> None:
    page = open_shelf(open_page, **PHONE)
    assert no_sideways(page)
    row = page.locator("#rk-table tbody tr").first
    assert row.evaluate("row => getComputedStyle(row).display") == "grid"
    page.click("[data-sort=name]")
    until(page, "document.querySelector('th[aria-sort=ascending]')")
    page.get_by_role("button", name="Report a").click()
    shows(page, "#rk-document-text", "Text a.")
    assert no_sideways(page)


@pytest.mark.parametrize(
    ("locale", "query", "marked"),
    [
        (
            "en-GB",
            "How many days of annual leave in Galway?",
            {"annual", "leave", "days", "galway"},
        ),
        ("zh-CN", "员工每年有多少天年假", {"员工", "每年", "年假"}),
    ],
)
def test_a_search_shows_passages_first_and_scores_folded(
    open_page: Any,
    site: Any,
    locale: str,
    query: str,
    marked: set[str],
) -> None:
    words = ZH if locale == "zh-CN" else EN
    page = open_page(locale=locale)
    tab(page, 2)
    assert page.inner_text("#rk-said") == words["search_hint"]
    page.fill("#rk-query", query)
    page.keyboard.press("Enter")
    page.wait_for_selector(".rk-result")
    first = page.locator(".rk-result").first
    assert marked & {mark.lower() for mark in first.locator("mark").all_inner_texts()}
    assert "of" not in page.locator(".rk-result mark").all_inner_texts()
    assert ("Galway" if locale == "en-GB" else "休假") in first.locator(".rk-from").inner_text()
    assert not page.locator("#rk-scores").is_visible()
    page.click("#rk-stages summary")
    shows(page, "#rk-stages", words["stage_fuse"])
    assert page.locator("#rk-scores tbody tr").count() == page.locator(".rk-result").count()
    page.fill("#rk-query", "xylophone")
    page.keyboard.press("Enter")
    until(page, f"document.querySelector('#rk-said').innerText === {words['found_nearest']!r}")
    assert page.locator(".rk-result mark").count() == 0
    whole = page.locator(".rk-whole").first
    if whole.count():
        whole.click()
        assert whole.get_attribute("aria-expanded") == "true"


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_log_in_page_has_the_pages_look(
    visit: Any, guarded: str, locale: str, scheme: str
) -> None:
    page = visit(
        guarded, locale=locale, color_scheme=scheme, viewport={"width": 390, "height": 844}
    )
    page.wait_for_url("**/login?next=**")
    assert page.inner_text(".rk-brand-name") == "ragkit"
    assert page.inner_text("h1") == ("登录" if locale == "zh-CN" else "Log in")
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(22, 20, 18)" if scheme == "dark" else "rgb(247, 246, 244)")
    assert page.evaluate("document.activeElement.id") == "key"
    assert no_sideways(page)
