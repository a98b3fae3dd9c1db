"""The first quarter of an hour: no document, the first file, the first questions; collections."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from ragkit.access import keys
from ragkit_serve.api.services import Services
from ragkit_serve.page.words import WORDS
from tests.serve.browser.conftest import PHONE, age_conversations, ready, serving
from tests.serve.browser.test_page import DROP, answered, ask, no_sideways, shows, until

pytestmark = pytest.mark.browser
EN, ZH = WORDS["en"], WORDS["zh"]
HARBOUR = "# Harbour\n\nThe harbour crane lifts at most 42 tonnes in calm weather.\n"
LIBRARY = "# 图书馆规则\n\n## 借阅期限\n\n普通图书的借阅期限为30天，到期前可以续借一次。\n"


def options(page: Any) -> list[str]:
    return [one.strip() for one in page.locator("#rk-collection option").all_inner_texts()]


@pytest.mark.parametrize(
    ("locale", "name", "text"),
    [("en-GB", "harbour.md", HARBOUR), ("zh-CN", "library.md", LIBRARY)],
)
def test_a_newcomer_drops_a_file_and_asks_what_is_suggested(
    empty: Services, visit: Callable[..., Any], locale: str, name: str, text: str
) -> None:
    words = ZH if locale == "zh-CN" else EN
    with serving(empty) as url:
        page = visit(url, locale=locale)
        ready(page)
        assert page.inner_text(".rk-welcome h1") == words["empty_title"]
        assert page.inner_text("#rk-answering") == words["answered_by_quotations"]
        ask(page, "How much does the crane lift?")
        page.wait_for_selector(".rk-failed")
        assert page.inner_text(".rk-failed") == words["no_documents"]
        page.click("#rk-new")
        page.evaluate(DROP, ["#rk-transcript", [[name, text]]])
        shows(page, "#rk-arriving", words["state_done"])
        page.wait_for_selector(".rk-suggested button")
        one = words["collection_one"].format(name="default")
        assert options(page) == [one], "without reloading"
        page.locator(".rk-suggested button").first.click()
        turn = answered(page)
        assert turn.locator(".rk-refusal").count() == 0
        assert turn.locator(".rk-source").count() > 0
        assert page.locator("#rk-arriving").is_hidden(), "a question has been asked since"
        page.evaluate(DROP, ["#rk-transcript", [[name, text]]])
        shows(page, "#rk-arriving", words["state_done"])
        page.click(".rk-dismiss")
        assert page.locator("#rk-arriving").is_hidden()


def test_a_late_list_of_collections_does_not_take_the_suggestions_away(
    empty: Services, visit: Callable[..., Any]
) -> None:
    """After the first upload the page lists the collections twice: without and with its document.

    The first answer comes here while the page still works on the second.
    """
    late: list[tuple[Any, Any]] = []
    notices: list[Any] = []

    def collections(route: Any) -> None:
        if late:
            route.continue_()
        else:
            late.append((route, route.fetch()))

    def notice(route: Any) -> None:
        notices.append(route)
        if len(notices) == 1:
            route_of_first, response = late[0]
            route_of_first.fulfill(response=response)
        else:
            for held in notices[-2:] if len(notices) == 2 else [route]:
                held.continue_()

    with serving(empty) as url:
        page = visit(url)
        ready(page)
        page.route("**/v1/collections?*", collections)
        page.route("**/ui/notice/*", notice)
        page.evaluate(DROP, ["#rk-transcript", [["harbour.md", HARBOUR]]])
        shows(page, "#rk-arriving", EN["state_done"])
        until(page, "document.querySelectorAll('.rk-suggested button').length > 0", 20)
        assert options(page) == [EN["collection_one"].format(name="default")]
        assert len(notices) >= 2


def test_documents_from_elsewhere_come_up_in_the_welcome(
    empty: Services, visit: Callable[..., Any]
) -> None:
    empty.database.store("default").create_collection("default")
    with serving(empty) as url:
        page = visit(url)
        ready(page)
        assert page.inner_text(".rk-welcome h1") == EN["empty_title"]
        page.request.post(
            f"{url}/v1/collections/default/documents",
            multipart={
                "file": {
                    "name": "harbour.md",
                    "mimeType": "text/markdown",
                    "buffer": HARBOUR.encode(),
                }
            },
        )
        look = "document.dispatchEvent(new Event('visibilitychange'))"
        until(page, f"({look}, document.querySelectorAll('.rk-suggested button').length > 0)", 60)


def test_who_may_only_read_is_told_who_can_add_documents(
    empty: Services, visit: Callable[..., Any]
) -> None:
    key = keys.create(empty.database, name="ann", principal="ann", scopes=("read",))
    with serving(empty) as url:
        page = visit(url, extra_http_headers={"authorization": f"Bearer {key.secret}"})
        ready(page)
        assert page.inner_text(".rk-welcome p") == EN["empty_reader"]
        for place in (".rk-choose", "#rk-add", "#rk-collection-more"):
            assert page.locator(f"{place}:visible").count() == 0
        page.evaluate(DROP, ["#rk-transcript", [["harbour.md", HARBOUR]]])
        assert page.locator("#rk-arriving").is_hidden()


def test_collections_are_made_renamed_and_deleted(open_page: Any, site: Any) -> None:
    page = open_page()
    store = site.services.database.store("default")

    def choose(key: str) -> None:
        page.click("#rk-collection-more")
        page.click(f"#rk-menu [data-do={key}]")

    page.once("dialog", lambda dialog: dialog.accept("Manuals"))
    choose("collection_new")
    until(page, "document.querySelector('#rk-collection').value === 'Manuals'")
    assert page.inner_text(".rk-welcome h1") == EN["empty_title"]
    page.once("dialog", lambda dialog: dialog.accept("手册"))
    choose("collection_rename")
    until(page, "document.querySelector('#rk-collection').value === '手册'")
    store.create_collection("made elsewhere")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    until(page, "document.querySelector('#rk-collection').options.length === 3")
    assert page.input_value("#rk-collection") == "手册", "what is chosen stays"
    asked: list[str] = []

    def confirm(dialog: Any) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.once("dialog", confirm)
    choose("collection_delete")
    until(page, "document.querySelector('#rk-collection').value !== '手册'")
    assert asked == [EN["collection_delete_sure"].format(name="手册", count=0)]
    assert {one.name for one in store.collections()} == {"default", "made elsewhere"}
    store.delete_collection("made elsewhere")


def test_a_name_that_is_taken_is_said_beside_the_picker(open_page: Any, site: Any) -> None:
    page = open_page()
    store = site.services.database.store("default")
    store.create_collection("taken")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    until(page, "document.querySelector('#rk-collection').options.length === 2")
    page.select_option("#rk-collection", "taken")
    page.once("dialog", lambda dialog: dialog.accept("default"))
    page.click("#rk-collection-more")
    page.click("#rk-menu [data-do=collection_rename]")
    shows(page, "#rk-choices", EN["collection_taken"].format(name="default"))
    page.once("dialog", lambda dialog: dialog.accept("taken"))
    page.click("#rk-collection-more")
    page.click("#rk-menu [data-do=collection_new]")
    shows(page, "#rk-choices", EN["collection_taken"].format(name="taken"))
    store.delete_collection("taken")


def test_what_answers_is_always_named(open_page: Any, site: Any) -> None:
    page = open_page(locale="zh-CN")
    assert page.inner_text("#rk-answering") == ZH["answered_by"].format(model="stub")
    ask(page, "How long is the warranty of the RL-400?")
    answered(page)
    assert page.locator("#rk-answering").is_visible()


def hold_talks(site: Any, titles: list[str], days: list[int]) -> None:
    """Keep a conversation for each title, so many days old."""
    from uuid import uuid4

    from ragkit.store.people.conversations import StoredTurn

    mine = site.services.library.conversations(site.caller())
    for title in titles:
        number, token = uuid4(), uuid4()
        mine.begin(number, token, new=("default", title))
        turn = StoredTurn(f"What of {title}?", title, "Nothing.", refused=False, reason="")
        mine.finish(number, token, turn)
    age_conversations(site.services, days)


def test_conversations_stand_under_their_days_and_are_searched(open_page: Any, site: Any) -> None:
    hold_talks(site, ["Leave", "Leave", "Warranty", "Hotels", "Crane"], [0, 0, 1, 4, 400])
    page = open_page()
    page.wait_for_selector("#rk-conversations h2")
    days = page.locator("#rk-conversations h2").all_inner_texts()
    assert days[:3] == [EN["today"], EN["yesterday"], EN["last_days"]]
    assert re.fullmatch(r"[A-Z][a-z]+ \d{4}", days[3])
    leave = page.locator(".rk-open", has_text="Leave")
    assert leave.count() == 2
    assert all(one.locator("small").inner_text() for one in leave.all()), "told apart by the time"
    assert page.locator(".rk-open", has_text="Hotels").locator("small").count() == 0
    page.fill("#rk-find-conversation", "WHAT OF crane")
    until(page, "document.querySelectorAll('.rk-open').length === 1")
    assert page.inner_text(".rk-open") == "Crane"
    page.fill("#rk-find-conversation", "zebra")
    shows(page, "#rk-conversations", EN["no_such_conversation"])


@pytest.mark.parametrize(
    "size", [PHONE, {"viewport": {"width": 1280, "height": 420}}], ids=["phone", "low"]
)
def test_the_menu_of_the_last_conversation_is_whole(
    open_page: Any, site: Any, size: dict[str, Any]
) -> None:
    hold_talks(site, [f"Conversation {n}" for n in range(30)], [0] * 30)
    page = open_page(**size)
    until(page, "document.querySelectorAll('#rk-conversations .rk-more').length === 30")
    if size is PHONE:
        page.click(".sidebar .toggle-button")
    last = page.locator("#rk-conversations .rk-more").last
    last.scroll_into_view_if_needed()
    last.click()
    box = page.locator("#rk-menu").bounding_box()
    width, height = size["viewport"].values()
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= height
    hit = page.evaluate(
        """([...document.querySelectorAll("#rk-menu > *")].every((item) => {
            const { left, top, width, height } = item.getBoundingClientRect();
            return item.contains(document.elementFromPoint(left + width / 2, top + height / 2));
        }))"""
    )
    assert hit, "nothing lies over it"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "menuitem"
    page.keyboard.press("Escape")
    assert page.locator("#rk-menu").count() == 0
    assert page.evaluate("document.activeElement.className") == "rk-more"
    assert no_sideways(page)


def test_a_quoted_list_is_a_list(empty: Services, visit: Callable[..., Any]) -> None:
    guests = "# Guests\n\nGuests should bring:\n\n- a towel\n- sturdy shoes\n- a lamp\n"
    with serving(empty) as url:
        page = visit(url)
        ready(page)
        page.evaluate(DROP, ["#rk-transcript", [["guests.md", guests]]])
        shows(page, "#rk-arriving", EN["state_done"])
        ask(page, "What should guests bring?")
        items = answered(page).locator(".rk-text li").all_inner_texts()
        assert [item.split("\n")[0].strip() for item in items[:2]] == ["a towel", "sturdy shoes"]


@pytest.mark.parametrize("size", [PHONE, {"viewport": {"width": 320, "height": 568}}])
@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_the_page_is_as_high_as_the_screen(
    empty: Services, visit: Callable[..., Any], locale: str, size: dict[str, Any]
) -> None:
    """Else the whole page scrolls by what is over, and the tabs leave the screen."""
    with serving(empty) as url:
        page = visit(url, locale=locale, **size)
        ready(page)
        until(page, "document.querySelector('#rk-answering').textContent")
        until(page, "document.scrollingElement.scrollHeight <= window.innerHeight", 5)
        page.evaluate(DROP, ["#rk-transcript", [["harbour.md", HARBOUR]]])
        words = ZH if locale == "zh-CN" else EN
        shows(page, "#rk-arriving", words["state_done"])
        ask(page, "How much does the crane lift?")
        answered(page)
        until(page, "document.scrollingElement.scrollHeight <= window.innerHeight", 5)
