"""Follow-up questions that a language model rewrites so that they stand alone.

The model's text is only used as a query.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit.errors import ModelError
from ragkit.prompts.ask_model import ask_model
from ragkit.prompts.messages import neutralise, prompt_language
from ragkit.question.reading import read_question
from ragkit.text.analyse import analyse
from ragkit.text.markers import without_markers
from ragkit.types import Turn

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel
    from ragkit.prompts.templates import Templates

MAX_TOKENS: Final = 512  # more than a question has, for a thinking model
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
    """A query, and how it was made, for the trace."""

    text: str
    made: str


def rewrite(
    model: LanguageModel, templates: Templates, question: str, history: Sequence[Turn]
) -> Standalone:
    """Rewrite a question so that it stands alone; where that fails, return it unchanged.

    Raises SettingsError for a template that cannot be used.
    """
    if not history or not analyse(question):
        return Standalone(question, "as asked")
    prompt = templates.render(
        "rewrite",
        prompt_language(question),
        turns=[_turn_values(turn) for turn in history],
        question=neutralise(question),
    )
    try:
        output = ask_model(model, prompt, max_tokens=MAX_TOKENS, timeout_s=TIMEOUT_S)
    except ModelError as error:
        return Standalone(question, f"as asked: it could not be rewritten: {error}")
    rewritten = _plain(output)
    fault = _fault(rewritten, question, history)
    if fault:
        return Standalone(question, f"as asked: the model's rewriting {fault}")
    is_equal = rewritten.casefold() == question.strip().casefold()
    return Standalone(rewritten, STANDS_ALONE if is_equal else "rewritten by the model")


def _turn_values(turn: Turn) -> dict[str, str]:
    answer = " ".join(without_markers(turn.answer).split())
    return {"question": neutralise(turn.question), "answer": neutralise(answer)}


def _plain(output: str) -> str:
    """Remove a label, and the quotation marks around the text.

    >>> _plain('Rewritten question: "How long is it?"')
    'How long is it?'
    """
    text = _LABEL.sub("", output, count=1) if _LABEL.match(output) else output
    quoted = _QUOTED.fullmatch(text.strip())
    return (quoted[1] if quoted else text).strip()


def _fault(rewritten: str, question: str, history: Sequence[Turn]) -> str:
    """Say what is wrong with a rewriting; "" for nothing."""
    if len(rewritten) > max(MAX_CHARS, 2 * len(question)):
        return f"has {len(rewritten)} characters"
    if len(rewritten.splitlines()) != 1:
        return "is more than one line"
    terms = read_question(rewritten).content
    conversation_terms = set(analyse(question))
    for turn in history:
        conversation_terms.update(analyse(turn.question), analyse(turn.answer))
    if terms and not terms & conversation_terms:
        return "shares no word with the conversation"
    return ""
