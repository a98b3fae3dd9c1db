"""What front ends ask beside the user's questions: recognised by its shape, and never refused.

The prompts have the fixed parts of Open WebUI's (0.11) and LibreChat's, in words of our own.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx
import openai
import pytest

from ragkit.testing.stub_server.server import Fault, StubServer
from ragkit_serve.api.chat_request import Message
from ragkit_serve.api.front_ends import read_task
from tests.serve.api.conftest import Live, Scripted, Serve
from tests.serve.api.test_chat import check_grammar, client, streamed

HISTORY = """<chat_history>
USER: How many days of paid holiday
does an employee have?
ASSISTANT: 28 days [1].
USER: And when do they lapse?
</chat_history>"""


def wanting(form: str, history: str = HISTORY) -> str:
    return f"### Task:\nDo as told below.\n\n### Output:\nJSON format: {form}\n\n{history}"


TITLE = wanting('{ "title": "a few words" }')
TAGS = wanting('{ "tags": ["one", "two"] }')
FOLLOW_UPS = wanting('{ "follow_ups": ["One?", "Two?"] }')
QUERIES = wanting('{\n  "queries": ["one"]\n}')
AUTOCOMPLETE = wanting('`{ "text": "<more>" }`') + "\n<type>General</type>\n<text>How ma</text>"
LIBRECHAT = (
    "Provide a concise, 5-word-or-less title for the conversation, please.\n\n"
    "Conversation:\nUser: How long is the lease?\nAI: Two years [1]."
)
FIRST = "How many days of paid holiday does an employee have?"
PLAIN = [
    (TITLE, json.dumps({"title": FIRST})),
    (TAGS, '{"tags": []}'),
    (FOLLOW_UPS, '{"follow_ups": []}'),
    (QUERIES, '{"queries": ["And when do they lapse?"]}'),
    (AUTOCOMPLETE, '{"text": ""}'),
    (wanting('{ "prompt": "a picture" }'), '{"prompt": "And when do they lapse?"}'),
    (LIBRECHAT, "How long is the lease?"),
    (wanting('{"title": ""}', "<chat_history>\nUSER: 租约多长？\n</chat_history>"),
     '{"title": "租约多长？"}'),
    (wanting('{"title": ""}', "<chat_history>\n</chat_history>"), '{"title": ""}'),
    (wanting('{"queries": []}', "<chat_history></chat_history>"), '{"queries": []}'),
]  # fmt: skip


def asked(prompt: str) -> Any:
    return [{"role": "user", "content": prompt}]


def the_title(live: Live, **body: Any) -> Any:
    return client(live.base).chat.completions.create(model="ragkit", messages=asked(TITLE), **body)


@pytest.mark.parametrize(("prompt", "answer"), PLAIN)
def test_the_shape_tells_and_the_plain_answer_is_the_one_that_is_read(
    prompt: str, answer: str
) -> None:
    task = read_task([Message(role="system", content="Be kind."), Message(**asked(prompt)[0])])
    assert task is not None
    assert task.plain() == answer


def test_a_long_question_makes_a_title_of_one_line() -> None:
    history = f"<chat_history>\nUSER: {'very ' * 100}long?\n</chat_history>"
    task = read_task([Message(role="user", content=wanting('{"title": ""}', history))])
    assert task is not None
    title = json.loads(task.plain())["title"]
    assert title == "very " * 14 + "very…"


@pytest.mark.parametrize(
    "question",
    [
        FIRST,
        "### Task:\nHow many days of leave are there?",
        "What does “### Task:” mean in our handbook?",
        f"Write { {'title': 'x'} } for this:\n{HISTORY}",
        # Open WebUI's own passages around a question of the user's.
        '### Task:\nAnswer with the context.\n<context>\n<source id="1">{"title": "x"}</source>\n'
        "</context>\n\nHow many days of leave are there?",
        '### Task:\nNo form is named.\n<chat_history>\nUSER: {"title": "x"}\n</chat_history>',
        '### Task:\n{"title": "x"}\n</chat_history> turned round <chat_history>',
        "Provide a concise, 5-word-or-less title for the conversation about leave.",
        "",
    ],
)
def test_questions_of_users_are_no_tasks(question: str) -> None:
    assert read_task([Message(role="user", content=question)]) is None


def test_a_message_among_others_is_no_task() -> None:
    turn = [Message(role="user", content="Hello?"), Message(role="assistant", content="Hello.")]
    assert read_task([*turn, Message(role="user", content=TITLE)]) is None
    assert read_task([Message(role="assistant", content=TITLE)]) is None


def test_without_a_model_the_answer_is_plain_and_no_document_is_searched(serve: Serve) -> None:
    with serve() as live:
        whole = the_title(live)
        chunks = streamed(live, messages=asked(TAGS))
    message = whole.choices[0].message
    assert json.loads(message.content) == {"title": FIRST}
    assert message.annotations == []
    assert message.context["citations"] == []
    assert message.context["refused"] is False
    assert message.context["timings"] == {}
    assert whole.usage.total_tokens == 0
    check_grammar(chunks)
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert json.loads(text) == {"tags": []}


def test_nothing_of_it_is_kept_or_becomes_a_conversation(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    with serve() as live, caplog.at_level(logging.INFO, "ragkit.audit"):
        answer = the_title(live, store=True)
        with pytest.raises(openai.NotFoundError):
            client(live.base).chat.completions.retrieve(answer.id)
        assert httpx.get(f"{live.base}/conversations").json()["data"] == []
    noted = [record.__dict__["fields"] for record in caplog.records if record.message == "audit"]
    assert [line["collection"] for line in noted if line["action"] == "chat"] == [None]


def test_a_model_gets_the_prompt_as_it_is(serve: Serve, scripted: Scripted) -> None:
    stub = scripted(lambda messages: '{"title": "Paid holiday"}')
    with serve(llm_url=stub.url, llm_model="stub") as live:
        answer = the_title(live, max_completion_tokens=100)
        chunks = streamed(live, messages=asked(FOLLOW_UPS), max_tokens=1_000_000)
    assert answer.choices[0].message.content == '{"title": "Paid holiday"}'
    assert answer.usage.prompt_tokens > 0
    first, second = (chat.body for chat in stub.chats)
    assert first["messages"] == [{"role": "user", "content": TITLE}]
    assert first["max_tokens"] == 100
    assert second["max_tokens"] == 1024
    check_grammar(chunks)


def test_a_model_that_fails_leaves_the_plain_answer(serve: Serve, scripted: Scripted) -> None:
    stub = scripted(lambda messages: Fault(status=400))
    with serve(llm_url=stub.url, llm_model="stub") as live:
        answer = the_title(live)
    assert json.loads(answer.choices[0].message.content) == {"title": FIRST}


def test_a_prompt_that_does_not_fit_is_not_sent(serve: Serve) -> None:
    with StubServer(max_model_len=1050) as stub, serve(llm_url=stub.url, llm_model="stub") as live:
        answer = the_title(live)
        assert stub.chats == []
    assert json.loads(answer.choices[0].message.content) == {"title": FIRST}


def test_the_served_models_own_name_is_passed_on_as_ever(serve: Serve, scripted: Scripted) -> None:
    stub = scripted(lambda messages: "As it is.")
    with serve(llm_url=stub.url, llm_model="stub") as live:
        answer = client(live.base).chat.completions.create(model="stub", messages=asked(TITLE))
    assert answer.choices[0].message.content == "As it is."
