"""Requests that front ends make beside the user's questions: titles, tags, further questions.

The fixed shape of Open WebUI's and LibreChat's prompts identifies them. No documents are searched:
a language model answers, or else a plain answer of the form that the front end reads.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, cast

from ragkit.answer.write.llm import UNKNOWN_CONTEXT_TOKENS
from ragkit.errors import ModelServerError
from ragkit.prompts.ask_model import ask_model
from ragkit.store.people.conversations import title_of

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel
    from ragkit_serve.api.chat_request import Message

log = logging.getLogger("ragkit.serve")
Kind = Literal["title", "tags", "follow_ups", "queries", "text", "prompt", "plain title"]

TIMEOUT_S: Final = 60.0  # arbitrary: nobody waits for a title, and it may hold a model's only slot
_OPEN_WEBUI: Final = "### Task:"
_BEGIN, _END = "<chat_history>", "</chat_history>"
# The key of the JSON that the prompt wants, which stands in it before the history.
_WANTED: Final = re.compile(r"\"(title|tags|follow_ups|queries|text|prompt)\"\s*:")
_LIBRECHAT: Final = re.compile(
    r"Provide a concise, 5-word-or-less title for the conversation\b[^\n]*\n+"
    r"Conversation:\n(?=User: )"
)
_TURNS: Final = re.compile(
    r"^(user|human|assistant|ai|system):[ \t]*", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Task:
    """What a front end wants, the whole prompt, and the user's questions in its history."""

    kind: Kind
    prompt: str
    questions: Sequence[str]

    def plain(self) -> str:
        """Answer without a language model, in the form that the front end reads."""
        return _PLAIN[self.kind](self.questions)

    def answer(self, model: LanguageModel, *, max_tokens: int) -> str:
        """Return the model's answer; the plain one where the prompt is too long or it fails."""
        try:
            context = model.context_tokens() or UNKNOWN_CONTEXT_TOKENS
            if model.count_tokens([self.prompt])[0] + max_tokens > context:
                return self.plain()  # some servers cut a prompt's beginning and say nothing of it
            return ask_model(model, self.prompt, max_tokens=max_tokens, timeout_s=TIMEOUT_S)
        except ModelServerError as error:
            log.warning("a front end's %s is answered without the model: %s", self.kind, error)
            return self.plain()


def read_task(messages: Sequence[Message]) -> Task | None:
    """Read what a front end wants by messages that are no question of a user's; else None.

    Such a prompt is the only message, but for a system message before it.
    """
    dialogue = [message for message in messages if message.role not in {"system", "developer"}]
    if len(dialogue) != 1 or dialogue[0].role != "user":
        return None
    prompt = dialogue[0].text
    if (match := _LIBRECHAT.match(prompt)) is not None:
        return Task("plain title", prompt, _questions(prompt[match.end() :]))
    begin, end = prompt.find(_BEGIN), prompt.rfind(_END)
    if not prompt.lstrip().startswith(_OPEN_WEBUI) or not 0 <= begin < end:
        return None
    task = _WANTED.search(prompt, 0, begin)
    if task is None:
        return None
    kind = cast("Kind", task[1])
    return Task(kind, prompt, _questions(prompt[begin + len(_BEGIN) : end]))


def _questions(history: str) -> Sequence[str]:
    """Return what the user said in a history of lines that begin with a role."""
    _, *parts = _TURNS.split(history)
    roles, texts = parts[::2], parts[1::2]
    turns = zip(roles, texts, strict=True)
    return [text.strip() for role, text in turns if role.lower() in {"user", "human"}]


def _title(questions: Sequence[str]) -> str:
    return title_of(questions[0]) if questions else ""


def _json(key: str, value: object) -> str:
    return json.dumps({key: value}, ensure_ascii=False)


_PLAIN: Final[dict[Kind, Callable[[Sequence[str]], str]]] = {
    "title": lambda questions: _json("title", _title(questions)),
    "tags": lambda questions: _json("tags", []),
    "follow_ups": lambda questions: _json("follow_ups", []),
    "queries": lambda questions: _json("queries", list(questions[-1:])),
    "text": lambda questions: _json("text", ""),
    "prompt": lambda questions: _json("prompt", "".join(questions[-1:])),  # of a picture
    "plain title": _title,
}
