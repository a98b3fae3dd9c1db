"""The chat page in a real browser: asked, stopped, read, uploaded to, attacked."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ragkit.access import keys
from ragkit.prompts.messages import REFUSAL
from ragkit.store.people.conversations import StoredTurn
from ragkit.testing.stub_server.server import Fault, Reply
from ragkit.types import Claim
from ragkit_serve.api.services import Services
from ragkit_serve.page.words import WORDS
from tests.serve.browser.conftest import ready, started

pytestmark = pytest.mark.browser
EN, ZH = WORDS["en"], WORDS["zh"]
LEAVE = "How many days of annual leave do full-time employees in Galway have?"
ABOUT_LEAVE = (
    "Full-time employees in Galway have **26 days** of annual leave in 2026 [1]. Public holidays"
    " come on top [1].\n\n- After five full years there is one additional day [1].\n"
    "- Up to 12 unused days can be sold back every spring [1]."
)
LEAVE_ZH = "入职满一年的员工每年有多少天年假？"
ABOUT_LEAVE_ZH = (
    "自2026年1月1日起，入职满一年的员工每年享有**8天**带薪年假[1]。\n\n满五年的员工为12天[1]。"
)
EVIL = (
    "![x](http://evil.example/1.png) ![y][r] [z](javascript:alert(1)) <http://evil.example/2>\n\n"
    "[r]: http://evil.example/3.png\n\n<img src=http://evil.example/4.png onerror=alert(1)>\n\n"
    "<svg onload=alert(1)><image href=http://evil.example/5.png /></svg>\n\n"
    "<iframe src=http://evil.example/6></iframe><script>alert(1)</script>\n\n"
    "<p style='background:url(http://evil.example/7.png)'>a</p> http://evil.example/8\n\n"
    "[d](data:text/html,<script>alert(1)</script>) &lt;img src=http://evil.example/9.png&gt;\n\n"
    "${fetch('http://evil.example/10')} {{constructor.constructor('alert(1)')()}}\n"
)

# Comes true when nothing on the page has changed for half a second.
QUIET = """new Promise((done) => {
  let timer = setTimeout(done, 500);
  new MutationObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(done, 500);
  }).observe(document, { childList: true, subtree: true, attributes: true });
})"""


def ask(page: Any, question: str) -> None:
    page.fill("#rk-question textarea", question)
    page.press("#rk-question textarea", "Enter")


def until(page: Any, expression: str, timeout_s: float = 60) -> None:
    """Wait until JavaScript is true of the page; Playwright's own way is against the policy."""
    deadline = time.monotonic() + timeout_s
    while not page.evaluate(expression):
        if time.monotonic() > deadline:
            shown = page.inner_text("body")[-2000:]
            raise AssertionError(f"never came true: {expression}\nthe page shows: {shown}")
        page.wait_for_timeout(20)


def shows(page: Any, place: str, text: str) -> None:
    """Wait until a text is seen; Gradio's tables also hold hidden copies of their cells."""
    until(page, f"document.querySelector('{place}')?.innerText.includes({json.dumps(text)})")


def state_of(file: str, state: str) -> str:
    """Return JavaScript that tells whether a file of the list has a state."""
    return (
        "[...document.querySelectorAll('#rk-table tbody tr')].some((row) =>"
        f" row.innerText.includes({json.dumps(file)})"
        f" && row.innerText.includes({json.dumps(state)}))"
    )


def answered(page: Any, count: int = 1) -> Any:
    until(page, f"document.querySelectorAll('.rk-acts').length === {count}")
    return page.locator(".rk-turn").last


def tab(page: Any, number: int) -> None:
    page.get_by_role("tab").nth(number).click()


def no_sideways(page: Any) -> bool:
    return bool(page.evaluate("document.scrollingElement.scrollWidth <= window.innerWidth"))


def test_a_question_is_answered_as_a_stream_and_kept(
    open_page: Any, site: Any, screenshot: Callable[[Any, str], None]
) -> None:
    site.says = lambda _: Reply(ABOUT_LEAVE, delay_s=0.05)
    page = open_page()
    ask(page, LEAVE)
    until(page, "document.querySelector('.rk-text')?.innerText.includes('26 days')")
    assert page.locator(".rk-acts").count() == 0, "it is still being written"
    assert page.locator("#rk-stop").is_visible()
    turn = answered(page)
    assert turn.locator(".rk-text strong").inner_text() == "26 days"
    assert turn.locator(".rk-text li").count() == 2
    assert "12 unused days" in "".join(turn.locator("mark").all_inner_texts())
    assert turn.locator(".rk-source").inner_text().split() == [
        *("1", "Leave", "and", "absence", "(Galway),", "Annual", "leave"),
        *("?", "partly", "supported"),
    ]
    page.wait_for_selector("#rk-conversations .rk-open")
    page.reload()
    page.wait_for_selector("body.rk-ready")
    page.click("#rk-conversations .rk-open")
    assert "26 days" in answered(page).locator(".rk-text").inner_text()
    page.click(".rk-cite")
    page.wait_for_selector("#rk-panel .rk-span")
    screenshot(page, "chat")


def test_a_citation_opens_its_source_with_the_span_highlighted(open_page: Any, site: Any) -> None:
    site.says = lambda _: ABOUT_LEAVE
    page = open_page()
    ask(page, LEAVE)
    answered(page).locator(".rk-cite").first.click()
    page.wait_for_selector("#rk-panel:not([hidden])")
    assert page.inner_text("#rk-panel h2").split(maxsplit=1) == ["1", "Leave and absence (Galway)"]
    stored = site.services.library.conversations(site.caller())
    (turn,) = stored.turns(stored.all()[0].id)
    highlighted = "".join(page.locator("#rk-panel .rk-span").all_inner_texts())
    for citation in turn.citations:
        assert " ".join(citation.quote.split()) in " ".join(highlighted.split())
    whole = page.inner_text(".rk-passage")
    assert len(whole) > 2 * len(highlighted)
    assert page.evaluate("document.activeElement.id") == "rk-close"
    page.keyboard.press("Escape")
    assert page.locator("#rk-panel").is_hidden()
    assert page.evaluate("document.activeElement.className") == "rk-cite"
    page.locator(".rk-cite").first.click()
    page.wait_for_selector("#rk-panel:not([hidden])")
    tab(page, 1)
    assert page.locator("#rk-panel").is_hidden(), "a source belongs to where it was opened"


def test_a_manual_is_cited_by_page(open_page: Any, site: Any) -> None:
    page = open_page()
    ask(page, "How is the RL-400 installed and calibrated?")
    turn = answered(page)
    assert re.search(r", page \d", turn.locator(".rk-source").first.inner_text())
    turn.locator(".rk-source").first.click()
    page.wait_for_selector("#rk-panel .rk-span")
    assert re.search(r"page \d+ · version 1", page.inner_text(".rk-place"))


def test_an_answer_is_stopped_and_the_question_comes_back(open_page: Any, site: Any) -> None:
    site.says = lambda _: Reply("One word after the other. " * 200, delay_s=0.1)
    page = open_page()
    before = len(site.stub.disconnects)
    ask(page, LEAVE)
    until(page, "document.querySelector('.rk-text')?.innerText.includes('One word')")
    page.click("#rk-stop")
    page.wait_for_selector(".rk-failed")
    assert page.inner_text(".rk-failed") == EN["stopped"]
    assert page.input_value("#rk-question textarea") == LEAVE
    assert page.locator("#rk-send").is_visible()
    deadline = time.monotonic() + 60
    while len(site.stub.disconnects) == before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(site.stub.disconnects) == before + 1, "the model was let go"
    page.reload()
    ready(page)
    page.wait_for_selector(".rk-empty")
    site.says = lambda _: ABOUT_LEAVE
    ask(page, LEAVE)
    answered(page)


def test_escape_stops_and_shift_enter_begins_a_line(open_page: Any, site: Any) -> None:
    site.says = lambda _: Reply("Slowly now. " * 200, delay_s=0.1)
    page = open_page()
    page.focus("#rk-question textarea")
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.rk-text')?.innerText.includes('Slowly')")
    assert page.inner_text(".rk-question") == "one\ntwo"
    page.keyboard.press("Escape")
    page.wait_for_selector(".rk-failed")


def test_a_refusal_reads_as_one(open_page: Any, site: Any) -> None:
    site.says = lambda _: REFUSAL["en"]
    page = open_page()
    ask(page, "Which leave do the dogs of employees in Galway have?")
    turn = answered(page)
    assert turn.locator(".rk-refusal .rk-label").inner_text() == EN["refused"]
    assert turn.locator(".rk-reason").inner_text() == (
        "The language model found no answer in the passages that it was given."
    )


def test_what_fails_is_one_line_and_the_question_comes_back(open_page: Any, site: Any) -> None:
    site.says = lambda _: Fault(status=500)
    page = open_page()
    ask(page, LEAVE)
    page.wait_for_selector(".rk-failed")
    said = page.inner_text(".rk-failed")
    assert said.startswith("That did not work: ")
    assert "\n" not in said
    assert page.input_value("#rk-question textarea") == LEAVE
    site.says = lambda _: Fault(cut="reset", text="Half an answer and")
    page.press("#rk-question textarea", "Enter")
    until(page, "document.querySelectorAll('.rk-failed').length === 2")
    assert "Half an answer" in page.locator(".rk-incomplete").inner_text()


def test_reasoning_is_folded_away_as_plain_text(open_page: Any, site: Any) -> None:
    site.says = lambda _: Reply(ABOUT_LEAVE, reasoning="<b>Hm</b> **so**. " * 5, delay_s=0.02)
    page = open_page()
    ask(page, LEAVE)
    shown = "document.querySelector('.rk-reasoning > div')?.textContent"
    until(page, f"{shown}?.includes('<b>Hm</b> **so**. <b>Hm</b>')")
    answered(page)


def test_conversations_are_renamed_rated_exported_and_deleted(open_page: Any, site: Any) -> None:
    site.says = lambda _: ABOUT_LEAVE
    page = open_page()
    ask(page, LEAVE)
    turn = answered(page)
    turn.locator("[data-act=bad]").click()
    turn.locator(".rk-comment input").fill("Too short.")
    turn.locator(".rk-comment button").click()
    page.wait_for_selector(".rk-thanks")
    assert turn.locator("[data-act=bad]").get_attribute("aria-pressed") == "true"
    page.once("dialog", lambda dialog: dialog.accept("My leave"))
    page.click("#rk-conversations .rk-more")
    page.click("#rk-menu [data-do=rename]")
    until(page, "document.querySelector('.rk-open')?.textContent === 'My leave'")
    page.click("#rk-conversations .rk-more")
    with page.expect_download() as download:
        page.click("#rk-menu a >> nth=0")
    assert "26 days" in Path(download.value.path()).read_text()
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#rk-conversations .rk-more")
    page.click("#rk-menu [data-do=delete]")
    page.wait_for_selector("#rk-conversations .rk-empty")
    assert page.locator(".rk-turn").count() == 0


def test_a_follow_up_stays_in_the_conversation_and_a_new_one_is_new(
    open_page: Any, site: Any
) -> None:
    page = open_page()
    ask(page, LEAVE)
    answered(page)
    ask(page, "And how many in 2025?")
    answered(page, 2)
    assert page.locator(".rk-open").count() == 1
    page.click("#rk-new")
    assert page.locator(".rk-turn").count() == 0
    ask(page, "How long is the warranty of the RL-400?")
    answered(page)
    until(page, "document.querySelectorAll('.rk-open').length === 2")


def test_the_last_answer_is_replaced_and_comes_back_where_no_other_does(
    open_page: Any, site: Any
) -> None:
    page = open_page()
    more = "And how many in 2025?"
    for count, question in enumerate((LEAVE, more), 1):
        ask(page, question)
        answered(page, count)
    page.fill("#rk-question textarea", "A thought for later")
    again = page.locator("[data-act=again]")
    assert [one.is_visible() for one in again.all()] == [False, True]
    assert [one.is_visible() for one in page.locator("[data-act=edit]").all()] == [False, True]

    def slowly(text: str) -> Any:
        """Answer slowly; the follow-up is rewritten at once."""
        return lambda asked: (
            more if "Next question:" in asked[-1]["content"] else Reply(text, delay_s=0.1)
        )

    questions = [one.bounding_box() for one in page.locator(".rk-question").all()]
    assert len({one["x"] + one["width"] for one in questions}) == 1, "with a pencil and without"
    site.says = slowly("One word after the other. " * 200)
    again.last.click()
    until(page, "document.querySelector('.rk-turn:last-child')?.innerText.includes('One word')")
    assert page.locator(".rk-turn:visible").count() == 2, "the old answer is away meanwhile"
    assert page.locator("[data-act=again]:visible").count() == 0
    page.click("#rk-stop")
    page.wait_for_selector(".rk-failed")
    assert page.inner_text(".rk-failed") == f"{EN['stopped']} {EN['still_there']}"
    assert page.locator(".rk-turn:visible").count() == 3
    assert [one.is_visible() for one in again.all()] == [False, True]
    until(page, "!document.querySelector('.rk-busy')")
    site.says = slowly("Twelve days [1].")
    again.last.focus()
    page.keyboard.press("Enter")
    until(
        page,
        "document.querySelector('.rk-turn:last-child .rk-text')?.innerText?.startsWith('Twel')",
    )
    turn = answered(page, 2)
    assert turn.locator(".rk-question").inner_text() == more
    assert page.input_value("#rk-question textarea") == "A thought for later"
    turn.locator(".rk-source").first.click()
    page.wait_for_selector("#rk-panel .rk-span")
    page.reload()
    page.wait_for_selector("body.rk-ready")
    page.click("#rk-conversations .rk-open")
    assert "Twelve days" in answered(page, 2).inner_text()
    assert page.locator("[data-act=again]:visible").count() == 1


def test_the_last_question_is_edited_and_asked_again(open_page: Any, site: Any) -> None:
    page = open_page(locale="zh-CN")
    field = "#rk-question textarea"
    ask(page, "How many days of leev?")
    answered(page)
    page.fill(field, "A thought for later")
    page.locator("[data-act=edit]").focus()
    page.keyboard.press("Enter")
    assert page.input_value(field) == "How many days of leev?"
    assert page.inner_text(".rk-note-editing") == ZH["editing"]
    assert page.evaluate("document.activeElement.matches('#rk-question textarea')")
    page.keyboard.press("Escape")
    assert page.locator(".rk-note-editing").count() == 0
    assert page.input_value(field) == "A thought for later"
    assert page.evaluate("document.activeElement.dataset.act") == "edit"
    page.keyboard.press("Enter")
    site.says = lambda _: Fault(status=500)
    ask(page, LEAVE)
    page.wait_for_selector(".rk-failed")
    assert page.inner_text(".rk-failed").endswith(ZH["still_there"])
    assert page.input_value(field) == LEAVE, "and it is still edited"
    assert page.locator(".rk-note-editing").count() == 1
    site.says = lambda _: ABOUT_LEAVE
    until(page, "!document.querySelector('.rk-busy')")
    page.click("#rk-send")
    until(page, "document.querySelector('.rk-turn:last-child .rk-acts')")
    turn = answered(page)
    assert turn.locator(".rk-question").inner_text() == LEAVE
    assert page.locator(".rk-note-editing").count() == 0
    assert page.input_value(field) == "A thought for later"
    until(page, f"document.querySelector('.rk-open').textContent === {json.dumps(LEAVE)}")
    stored = site.services.library.conversations(site.caller())
    assert [turn.question for turn in stored.turns(stored.all()[0].id)] == [LEAVE]


def test_the_page_begins_although_its_script_comes_last(open_page: Any, site: Any) -> None:
    page = open_page()
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route("**/ui/static/ragkit.js*", hold)
    page.reload(wait_until="commit")
    for place in ("#rk-transcript", "#rk-list", "#rk-choices", "#rk-question textarea"):
        page.wait_for_selector(place, state="attached")
    page.evaluate(QUIET)
    (route,) = held
    route.continue_()
    ready(page)
    ask(page, LEAVE)
    answered(page)


def test_what_this_page_has_not_seen_is_not_replaced(open_page: Any, site: Any) -> None:
    page, other = open_page(), open_page()
    ask(page, LEAVE)
    answered(page)
    other.reload()
    other.click("#rk-conversations .rk-open")
    answered(other)
    ask(page, "And how many in 2025?")
    answered(page, 2)
    other.locator("[data-act=again]").click()
    other.wait_for_selector(".rk-failed")
    assert EN["error_moved_on"] in other.inner_text(".rk-failed")
    other.click("#rk-conversations .rk-open")
    answered(other, 2)


def test_a_conversation_that_is_opened_early_stays_open(open_page: Any, site: Any) -> None:
    """The list of conversations may come before all that the page begins with."""
    page = open_page()
    ask(page, LEAVE)
    answered(page)
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route("**/ui/notice/*", hold)
    page.reload()
    page.click("#rk-conversations .rk-open")
    answered(page)
    held.pop().continue_()
    ready(page)
    answered(page)
    ask(page, "And how many in 2025?")
    answered(page, 2)


def test_the_page_is_chinese_for_a_chinese_browser(
    open_page: Any, site: Any, screenshot: Callable[[Any, str], None]
) -> None:
    site.says = lambda _: ABOUT_LEAVE_ZH
    page = open_page(locale="zh-CN")
    assert page.inner_text("#rk-new") == ZH["new"]
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    assert page.inner_text(".rk-welcome h1") == ZH["welcome"]
    ask(page, LEAVE_ZH)
    turn = answered(page)
    number, place, *mark = turn.locator(".rk-source").inner_text().split()
    assert (number, place, mark) == ("1", "苏州厂区休假制度，年假", ["✓", "有出处支持"])
    turn.locator(".rk-cite").first.click()
    page.wait_for_selector("#rk-panel .rk-span")
    assert "8天" in page.inner_text("#rk-panel .rk-span >> nth=0")
    assert "版本 1" in page.inner_text(".rk-place")
    screenshot(page, "chat-zh")


def test_a_phone_has_room_for_everything(
    open_page: Any, site: Any, screenshot: Callable[[Any, str], None]
) -> None:
    site.says = lambda _: ABOUT_LEAVE
    page = open_page(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    ask(page, LEAVE)
    turn = answered(page)
    assert no_sideways(page)
    box = page.locator("#rk-composer").bounding_box()
    assert box["y"] + box["height"] <= 844
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    screenshot(page, "chat-phone")
    page.fill("#rk-question textarea", "many lines\n" * 12)
    assert page.locator("#rk-composer").bounding_box()["height"] > box["height"] + 100
    send = page.locator("#rk-send").bounding_box()
    assert send["y"] + send["height"] <= 844, "it can be sent, however long it is"
    turn.locator(".rk-cite").first.click()
    page.wait_for_selector("#rk-panel .rk-span")
    panel = page.locator("#rk-panel").bounding_box()
    assert (panel["x"], panel["width"]) == (0, 390)
    page.click("#rk-close")
    page.click(".sidebar .toggle-button")
    page.click("#rk-conversations .rk-open")
    for number in (1, 2):
        tab(page, number)
        assert no_sideways(page)


def test_a_dark_browser_gets_a_dark_page(
    open_page: Any, site: Any, screenshot: Callable[[Any, str], None]
) -> None:
    site.says = lambda _: ABOUT_LEAVE
    page = open_page(color_scheme="dark")
    ask(page, LEAVE)
    answered(page)
    colours = page.evaluate(
        """["body", ".rk-text p"].map((one) => getComputedStyle(document.querySelector(one)))
        .map((style, i) => i ? style.color : style.backgroundColor)"""
    )
    back, fore = (max(map(int, re.findall(r"\d+", one)[:3])) for one in colours)
    assert back < 60
    assert fore > 180
    page.wait_for_selector("#rk-conversations .rk-open")
    screenshot(page, "chat-dark")


def test_settings_go_along_with_the_question(open_page: Any, site: Any) -> None:
    page = open_page()
    page.click("#rk-settings summary")
    page.locator("#rk-settings input[type=radio]").nth(2).check()
    until(page, "document.querySelectorAll('#rk-only .rk-options label').length >= 6")
    cut = page.evaluate(
        """(() => {
          const list = document.querySelector("#rk-only .rk-options");
          const { bottom } = list.getBoundingClientRect();
          const rows = [...list.children].map((row) => row.getBoundingClientRect());
          return rows.filter((row) => row.top < bottom - 2 && row.bottom > bottom).length;
        })()"""
    )
    assert cut == 0, "rows of the list"
    page.fill("#rk-only-part", "galway")
    page.get_by_label("Leave and absence (Galway)").check()
    assert page.inner_text("#rk-only .rk-hint") == EN["only_some"].format(count=1)
    page.fill("#rk-only-part", "warranty")
    page.get_by_label("Warranty").first.wait_for()
    assert page.get_by_label("Leave and absence (Galway)").is_checked(), "what is chosen stays"
    page.fill("#rk-passages", "7")
    leave = page.locator("#rk-only input:checked").get_attribute("value")
    with page.expect_request("**/ui/ask") as asked:
        ask(page, LEAVE)
    assert asked.value.post_data_json == {
        **{"question": LEAVE, "conversation": None, "collection": "default"},
        **{"documents": [int(leave)], "mode": "lexical", "passages": 7, "replaces": None},
    }
    answered(page)


def about_the_crane(messages: Any) -> str:
    """Cite the source that tells of the crane, wherever it stands in the prompt."""
    source = r"<source id=\"(\d+)\"[^<>]*>\n(?:(?!</source>).)*42 tonnes"
    found = re.search(source, str(messages[-1]["content"]), re.DOTALL)
    assert found is not None
    return f"The harbour crane lifts at most 42 tonnes [{found[1]}]."


def test_a_file_is_uploaded_and_asked_about(open_page: Any, site: Any, tmp_path: Path) -> None:
    good, bad = tmp_path / "harbour.md", tmp_path / "broken.pdf"
    good.write_text("# Harbour\n\nThe harbour crane lifts at most 42 tonnes in calm weather.\n")
    bad.write_bytes(b"%PDF-1.7 and nothing more")
    page = open_page()
    tab(page, 1)
    page.locator("#rk-upload input[type=file]").set_input_files([good, bad])
    until(page, state_of("broken.pdf", EN["state_failed"]))
    until(page, state_of("harbour.md", EN["state_done"]))
    assert "PDF" in page.inner_text("#rk-table .rk-state .rk-reason")
    page.get_by_role("button", name="Harbour", exact=True).click()
    shows(page, "#rk-document-text", "42 tonnes")
    tab(page, 0)
    site.says = about_the_crane
    ask(page, "How many tonnes does the harbour crane lift?")
    turn = answered(page)
    assert "42 tonnes" in turn.locator(".rk-text").inner_text()
    assert "Harbour" in turn.locator(".rk-source").inner_text()
    tab(page, 1)
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#rk-delete")
    shows(page, "#rk-counted", EN["files_deleted"].format(count=1))
    assert "harbour.md" not in page.inner_text("#rk-listed")


DROP = """([zone, files]) => {
    const data = new DataTransfer();
    for (const [name, text] of files) data.items.add(new File([text], name));
    for (const type of ["dragover", "drop"]) {
        const event = { dataTransfer: data, bubbles: true, cancelable: true };
        document.querySelector(zone).dispatchEvent(new DragEvent(type, event));
    }
}"""


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_files_are_dropped_and_those_that_are_refused_say_why(
    open_page: Any, site: Any, locale: str
) -> None:
    words = ZH if locale == "zh-CN" else EN
    page = open_page(locale=locale)
    tab(page, 1)
    shows(page, "#rk-upload", words["upload"])
    assert page.inner_text("#rk-upload .rk-hint") == words["upload_limit"].format(mb=64)
    page.wait_for_selector("#rk-table")
    page.evaluate(DROP, ["#rk-table", [["beside.md", "nothing"]]])
    assert page.locator("#rk-upload").is_visible(), "the file does not take the page's place"
    large = "x" * (1 << 20)
    page.evaluate("mb => { window.large = mb.repeat(65) }", large)
    files = [["quay.md", "# Quay\n\nThe quay is 30 metres long."], ["nameless", "x"]]
    page.evaluate(DROP, ["#rk-upload", files])
    page.evaluate(
        DROP.replace("files) data", "[['large.md', window.large]]) data"), ["#rk-upload", []]
    )
    shows(page, "#rk-ways", words["error_too_large"])
    # In one step: the list is written anew while an upload goes on.
    rows = page.evaluate("[...document.querySelectorAll('#rk-ways li')].map(row => row.innerText)")
    refused = {row.split()[0]: row for row in rows}
    assert refused.keys() == {"nameless", "large.md"}
    assert words["state_failed"] in refused["large.md"]
    assert "has no extension" in refused["nameless"]
    until(page, state_of("quay.md", words["state_done"]))
    page.get_by_role("button", name=f"{words['forget']}: nameless").click()
    assert page.locator("#rk-ways li").count() == 1


def test_files_are_chosen_with_the_keyboard(open_page: Any, site: Any, tmp_path: Path) -> None:
    file = tmp_path / "pier.md"
    file.write_text("# Pier\n\nThe pier has 12 lamps.")
    page = open_page(viewport={"width": 390, "height": 844})
    tab(page, 1)
    page.wait_for_selector("#rk-upload")
    page.focus("#rk-upload input")
    choosers: list[Any] = []
    # Playwright marks its handlers, which it cannot do with a method of a list.
    page.on("filechooser", lambda chooser: choosers.append(chooser))  # noqa: PLW0108
    for key in ("Space", "Enter"):
        choosers.clear()
        deadline = time.monotonic() + 60
        while not choosers:  # a tab that is drawn anew meanwhile takes no key: press again
            assert time.monotonic() < deadline, key
            page.focus("#rk-upload input")
            page.keyboard.press(key)
            page.wait_for_timeout(1000)
    assert choosers[-1].is_multiple()
    choosers[-1].set_files([file])
    until(page, state_of("pier.md", EN["state_done"]))
    assert no_sideways(page)


def test_what_the_limits_of_a_key_refuse_is_said_in_words(
    visit: Callable[..., Any], running: Any
) -> None:
    settings = running.services.settings.model_copy(update={"serve_key_concurrency": 1})
    services = Services(settings, running.services.database, running.services.library)
    live = started(services)
    page = visit(live.url, locale="zh-CN")
    ready(page)
    tab(page, 2)
    page.fill("#rk-query", "annual leave")
    app: Any = live.server.config.app
    state = app.state.ragkit
    state.quota._concurrency = 0
    page.click("#rk-search")
    shows(page, "#rk-retrieval", ZH["failed"].format(reason=ZH["error_concurrency"]))
    state.quota._concurrency = 1
    page.click("#rk-search")
    shows(page, "#rk-hits", "Leave and absence (Galway)")
    assert page.locator("#rk-retrieval .rk-failed").count() == 0
    live.end()


def test_one_logs_in_by_key_and_out_again(browser: Any, running: Any, guarded: str) -> None:
    key = keys.create(running.services.database, name="ann", principal="ann", scopes=("read",))
    nameless = keys.create(running.services.database, name="all", scopes=("read",))
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(60_000)
    try:
        page.goto(guarded)
        page.wait_for_url("**/login?next=**")
        page.fill("#key", "rk_" + "0" * 64)
        page.click("button")
        page.wait_for_selector("[role=alert]")
        page.fill("#key", key.secret)
        page.click("button")
        page.wait_for_selector("body.rk-ready")
        assert page.inner_text("#rk-out") == "Log out (ann)"
        tab(page, 1)
        shows(page, "#rk-documents", "Leave and absence (Galway)")
        assert page.inner_text("#rk-no-upload") == EN["no_write"]
        assert page.locator("#rk-upload").count() == 0, "the key may only read"
        page.get_by_role("button", name="Leave and absence (Galway)").click()
        shows(page, "#rk-document-text", "26 days")
        assert page.locator("#rk-delete, #rk-documents [type=checkbox]").count() == 0
        page.click("#rk-out")
        page.wait_for_selector("#key")
        page.fill("#key", nameless.secret)
        page.click("button")
        page.wait_for_selector("body.rk-ready")
        assert page.inner_text("#rk-out") == "Log out", "the key is for no person by name"
        page.click("#rk-out")
        page.wait_for_selector("#key")
        page.goto(guarded)
        page.wait_for_url("**/login?next=**")
    finally:
        context.close()
        keys.revoke(running.services.database, key.access.id)
        keys.revoke(running.services.database, nameless.access.id)


def test_nothing_that_a_model_writes_leaves_the_page(open_page: Any, site: Any) -> None:
    site.says = lambda _: Reply(EVIL, reasoning=EVIL, delay_s=0.01)
    page = open_page()
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    ask(page, LEAVE)
    turn = answered(page)
    assert turn.locator("img, svg, iframe, script, a, [style], [src], [href]").count() == 0


def test_nothing_that_is_stored_leaves_the_page(open_page: Any, site: Any, tmp_path: Path) -> None:
    """Even what no check had seen when it was stored."""
    conversations = site.services.library.conversations(site.caller())
    number, token = uuid4(), uuid4()
    conversations.begin(number, token, new=("default", EVIL[:75]))
    claims = (Claim(0, len(EVIL), (1,), "not found"),)
    turn = StoredTurn(EVIL, EVIL, EVIL, False, EVIL, claims=claims, unverified=(EVIL[:20],))
    conversations.finish(number, token, turn)
    file = tmp_path / "evil.md"
    file.write_text(f"# {EVIL.splitlines()[0]}\n\n{EVIL}\n\nThe zebra is striped.")
    page = open_page()
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.click(".rk-open")
    shown = answered(page)
    assert "evil.example/1.png" in shown.locator(".rk-text").inner_text()
    assert shown.locator("img, svg, iframe, script, a, [style], [src], [href]").count() == 0
    tab(page, 1)
    page.locator("#rk-upload input[type=file]").set_input_files([file])
    until(page, state_of("evil.md", EN["state_done"]))
    page.locator("#rk-listed").get_by_text("evil.md").click()
    shows(page, "#rk-document-text", "evil.example")
    tab(page, 2)
    page.fill("#rk-query", "striped zebra")
    page.click("#rk-search")
    shows(page, "#rk-hits", "evil.example")
    for place in ("#rk-document-text", "#rk-document-name", "#rk-listed", "#rk-hits", "#rk-ways"):
        assert page.locator(place).locator("img, iframe, script, a[href]").count() == 0
