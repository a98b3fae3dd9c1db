"""Language models: servers that stand in for each other, models in process, other providers.

They continue chats and count tokens. None knows of questions, passages or citations.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel
    from ragkit.types import Decoding, Message


def complete(
    model: LanguageModel, messages: Sequence[Message], decoding: Decoding | None = None
) -> str:
    """Return the whole text of a model's answer, without its reasoning.

    Raises ModelServerError, IncompleteAnswerError.
    """
    stream = model.stream(messages, decoding)
    with closing(cast("Any", stream)) as pieces:  # the contract says that it can be closed
        return "".join(piece for piece in pieces if isinstance(piece, str))
