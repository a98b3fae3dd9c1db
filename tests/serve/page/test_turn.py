"""A turn and its sources as HTML, from what is stored; and who may see them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from ragkit.access import keys
from ragkit.access.library import Caller
from ragkit.contracts import Embedder
from ragkit.store.people.conversations import StoredTurn
from ragkit.testing.corpus import fill, new_document
from ragkit.types import Citation, Claim, Support
from ragkit_serve.api.services import Services
from ragkit_serve.page.source import source_html, surrounded
from ragkit_serve.page.turn import turn_html
from ragkit_serve.page.words import WORDS

EN, ZH = WORDS["en"], WORDS["zh"]
NUMBER = uuid.UUID(int=7)
CITED = Citation(1, 5, "upload:a.md", "A & <b>B</b>", 3, 10, 14, "cite", "verified")
TURN = StoredTurn(
    question="What <b>is</b> it?",
    query="What is it?",
    answer="It *is* so [1]. Or not.",
    refused=False,
    reason="",
    citations=(CITED, replace(CITED, start=30, end=34)),
    claims=(Claim(0, 11, (1,), "supported"), Claim(16, 23, (), "not found")),
    timings={"retrieve": 0.25, "generate": 1.0},
    ordinal=2,
)


def test_a_turn_has_question_answer_sources_and_times() -> None:
    html = turn_html(TURN, NUMBER, markdown=True, words=EN)
    assert f'data-answer="{NUMBER}/2"' in html
    assert "What &lt;b&gt;is&lt;/b&gt; it?" in html
    assert "It <em>is</em> so" in html
    assert html.count('class="rk-source"') == 1, "one source, though it is cited twice"
    assert "A &amp; &lt;b&gt;B&lt;/b&gt;, page 3" in html
    assert EN["weak_note"] in html
    assert "1.2 s" in html


@pytest.mark.parametrize("words", [EN, ZH])
def test_what_was_searched_for_stands_under_the_answer_and_not_behind_a_click(
    words: Mapping[str, str],
) -> None:
    html = turn_html(TURN, NUMBER, markdown=True, words=words)
    shown = words["searched_for"].format(query="What is it?")
    assert f'<p class="rk-searched">{shown}</p>' in html.partition("<details")[0]
    same = replace(TURN, query=TURN.question)
    assert "rk-searched" not in turn_html(same, NUMBER, markdown=True, words=words)


def test_each_turn_has_the_buttons_of_the_last_outside_of_its_text() -> None:
    html = turn_html(TURN, NUMBER, markdown=True, words=ZH)
    assert '<div class="rk-question">What &lt;b&gt;is&lt;/b&gt; it?</div>' in html
    for act in ("edit", "again"):
        assert html.count(f'data-act="{act}" aria-label="{ZH[act]}"') == 1


def test_without_markdown_the_answer_is_shown_as_it_is() -> None:
    assert "It *is* so" in turn_html(TURN, NUMBER, markdown=False, words=EN)


@pytest.mark.parametrize("words", [EN, ZH])
def test_a_phrase_that_stands_nowhere_is_named_under_the_answer(words: Mapping[str, str]) -> None:
    turn = replace(TURN, trace={"search phrase": "dog <b>friendly</b>"})
    html = turn_html(turn, NUMBER, markdown=True, words=words)
    told = words["phrase_nowhere"].format(phrase="dog &lt;b&gt;friendly&lt;/b&gt;")
    assert f'<p class="rk-searched">{told}</p>' in html


def test_a_source_with_one_quotation_that_was_not_found_is_not_called_verified() -> None:
    citations = (CITED, replace(CITED, verdict="unverified"))
    html = turn_html(replace(TURN, citations=citations), NUMBER, markdown=True, words=EN)
    assert "rk-unverified" in html
    assert "rk-verified" not in html


def test_a_source_is_named_with_the_headings_it_stands_under() -> None:
    cited = replace(CITED, title="手册", headings=("请假", "<b>产假</b>"), page=None)
    html = turn_html(replace(TURN, citations=(cited,)), NUMBER, markdown=True, words=ZH)
    assert "手册，请假 &gt; &lt;b&gt;产假&lt;/b&gt;" in html


@pytest.mark.parametrize(
    ("support", "word"), [("quoted", "quoted"), ("supported", "supported"), ("partly", "partly")]
)
@pytest.mark.parametrize("words", [EN, ZH])
def test_the_mark_of_a_source_says_what_was_checked(
    support: Support, word: str, words: Mapping[str, str]
) -> None:
    turn = replace(TURN, claims=(Claim(0, 11, (1,), "quoted"), Claim(16, 23, (1,), support)))
    html = turn_html(turn, NUMBER, markdown=True, words=words)
    sign = "?" if support == "partly" else "✓"
    assert f">{sign} {words['mark_' + word]}</span></button>" in html


def test_a_source_of_an_answer_without_judged_sentences_is_only_quoted() -> None:
    html = turn_html(replace(TURN, claims=()), NUMBER, markdown=True, words=ZH)
    assert ">✓ 原文引用</span></button>" in html
    missing = replace(TURN, claims=(), citations=(replace(CITED, verdict="unverified"),))
    assert ">? 原文中没有</span></button>" in turn_html(missing, NUMBER, markdown=True, words=ZH)


def test_a_refusal_says_that_it_is_one_and_why() -> None:
    refused = replace(TURN, refused=True, reason="no <i>passage</i>", citations=(), claims=())
    html = turn_html(refused, NUMBER, markdown=True, words=ZH)
    assert f'<p class="rk-label">{ZH["refused"]}</p>' in html
    assert "No &lt;i&gt;passage&lt;/i&gt;." in html
    assert "rk-sources" not in html


def test_the_cited_spans_are_highlighted_in_their_surroundings() -> None:
    text = "Zero <one> two three four."
    spans = [replace(CITED, start=5, end=10), replace(CITED, start=15, end=20)]
    assert surrounded(text, spans) == (
        'Zero <mark class="rk-span">&lt;one&gt;</mark> two <mark class="rk-span">three</mark> four.'
    )


def test_spans_that_overlap_are_highlighted_once() -> None:
    spans = [replace(CITED, start=2, end=5), replace(CITED, start=0, end=3)]
    assert surrounded("abcdefg", spans) == '<mark class="rk-span">abcde</mark>fg'


def test_far_surroundings_are_left_out_at_words() -> None:
    text = "word " * 1000 + "HERE" + " word" * 1000
    html = surrounded(text, [replace(CITED, start=5000, end=5004)])
    assert html.startswith("… word word")
    assert html.endswith("word …")
    assert '<mark class="rk-span">HERE</mark>' in html
    assert len(html) < 1900


@pytest.fixture
def kept(services: Services, loaded_embedder: Embedder, caller: Caller) -> Any:
    """A conversation about a document that is then replaced, or deleted."""
    store = services.database.store("default")
    uri = f"{uuid.uuid4().hex}.md"
    (document,) = fill(
        store, loaded_embedder, [new_document(uri, "The pump runs fast.")], "manuals"
    )
    cited = replace(CITED, document=document.id, uri=uri, title="", start=4, end=8, quote="pump")
    conversations = services.library.conversations(caller)
    number, token = uuid.uuid4(), uuid.uuid4()
    conversations.begin(number, token, new=("manuals", "About pumps"))
    conversations.finish(number, token, replace(TURN, citations=(cited,)))
    return number, cited


def test_a_source_is_read_from_the_store(services: Services, caller: Caller, kept: Any) -> None:
    html = source_html(services.library.store(caller), caller, [kept[1]], EN)
    assert 'The <mark class="rk-span">pump</mark> runs fast.' in html
    assert "page 3 · version 1" in html


def test_a_replaced_document_is_not_shown_as_if_it_had_not_changed(
    services: Services, loaded_embedder: Embedder, caller: Caller, kept: Any
) -> None:
    store = services.database.store("default")
    changed = replace(new_document(kept[1].uri, "Something else."), content_hash="other")
    fill(store, loaded_embedder, [changed], "manuals")
    html = source_html(store, caller, [kept[1]], EN)
    assert "has been replaced since (version 2 now)" in html
    assert '<mark class="rk-span">pump</mark></div>' in html
    assert "Something" not in html


def test_a_deleted_document_and_one_of_another_collection_are_gone(
    services: Services, caller: Caller, kept: Any
) -> None:
    store = services.database.store("default")
    stranger = replace(caller, collections=("default",))
    assert EN["gone"] in source_html(store, stranger, [kept[1]], EN)
    store.delete_document("manuals", kept[1].document)
    assert EN["gone"] in source_html(store, caller, [kept[1]], EN)


def test_only_its_owner_reads_a_conversation_and_its_sources(
    app: FastAPI, services: Services, kept: Any, caller: Caller
) -> None:
    number, _ = kept

    def get(path: str, who: Caller) -> tuple[int, Any]:
        made = keys.create(
            services.database,
            name="test",
            scopes=("read",),
            tenant=who.tenant,
            principal=who.principal,
            collections=who.collections,
        )
        client = TestClient(app, base_url="http://127.0.0.1")
        answer = client.get(path, headers={"authorization": f"Bearer {made.secret}"})
        return answer.status_code, answer.json() if answer.status_code == 200 else None

    status, told = get(f"/ui/conversations/{number}", caller)
    assert status == 200
    assert (told["title"], told["collection"]) == ("About pumps", "manuals")
    assert "rk-turn" in told["html"]
    status, told = get(f"/ui/sources/{number}/1/1", caller)
    assert status == 200
    assert '<mark class="rk-span">pump</mark>' in told["html"]
    for stranger in (
        replace(caller, principal="another"),
        replace(caller, tenant="other"),
        replace(caller, collections=("default",)),
    ):
        assert get(f"/ui/conversations/{number}", stranger)[0] == 404
        assert get(f"/ui/sources/{number}/1/1", stranger)[0] == 404
    assert get(f"/ui/sources/{number}/1/2", caller)[0] == 404
    assert get(f"/ui/sources/{number}/2/1", caller)[0] == 404
