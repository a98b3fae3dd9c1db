"""Follow-up questions made to stand alone by a language model, or left as they were asked.

What the model says is only ever searched for. It knows nothing of how a conversation is stored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit.answer.markers import without_markers
from ragkit.answer.prompt import neutralise, prompt_language
from ragkit.answer.question import read_question
from ragkit.conversation.telling import tell
from ragkit.errors import ModelError
from ragkit.text.analyse import analyse
from ragkit.types import Turn

if TYPE_CHECKING:
    from ragkit.answer.templates import Templates
    from ragkit.contracts import LanguageModel

MAX_TOKENS: Final = 512  # a question is far shorter: the rest is for a thinking model
TIMEOUT_S: Final = 30.0  # arbitrary; the user waits for it
MAX_CHARS: Final = 300  # arbitrary, or twice the question's length: longer is no question

STANDS_ALONE: Final = "as asked: it stands alone"

_LABEL = re.compile(
    r"(?:(?:the )?(?:rewritten|standalone|next) question|(?:改写后的?|接下来的)?问题)\s*[:：]\s*",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“「'](.+)[\"”」']", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Standalone:
    """What to search for, and how it was made, for the trace."""

    text: str
    made: str


def rewrite(
    model: LanguageModel, templates: Templates, question: str, history: Sequence[Turn]
) -> Standalone:
    """Rewrite a question so that it stands alone; where that fails, return it as it is.

    Raises SettingsError for a template that cannot be used.
    """
    if not history or not analyse(question):
        return Standalone(question, "as asked")
    prompt = templates.render(
        "rewrite",
        prompt_language(question),
        turns=[_shown(turn) for turn in history],
        question=neutralise(question),
    )
    try:
        said = tell(model, prompt, max_tokens=MAX_TOKENS, timeout_s=TIMEOUT_S)
    except ModelError as error:
        return Standalone(question, f"as asked: it could not be rewritten: {error}")
    rewritten = _plain(said)
    fault = _fault(rewritten, question, history)
    if fault:
        return Standalone(question, f"as asked: the model's rewriting {fault}")
    same = rewritten.casefold() == question.strip().casefold()
    return Standalone(rewritten, STANDS_ALONE if same else "rewritten by the model")


def _shown(turn: Turn) -> dict[str, str]:
    answer = " ".join(without_markers(turn.answer).split())
    return {"question": neutralise(turn.question), "answer": neutralise(answer)}


def _plain(said: str) -> str:
    """Take a label and the quotation marks around the whole off.

    >>> _plain('Rewritten question: "How long is it?"')
    'How long is it?'
    """
    text = _LABEL.sub("", said, count=1) if _LABEL.match(said) else said
    quoted = _QUOTED.fullmatch(text.strip())
    return (quoted[1] if quoted else text).strip()


def _fault(rewritten: str, question: str, history: Sequence[Turn]) -> str:
    """Say what is absurd about a rewriting; "" when nothing is."""
    if len(rewritten) > max(MAX_CHARS, 2 * len(question)):
        return f"has {len(rewritten)} characters"
    if len(rewritten.splitlines()) != 1:
        return "is more than one line"
    said = read_question(rewritten).content
    known = set(analyse(question))
    for turn in history:
        known.update(analyse(turn.question), analyse(turn.answer))
    if said and not said & known:
        return "shares no word with the conversation"
    return ""
