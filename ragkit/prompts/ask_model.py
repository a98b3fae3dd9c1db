"""Ask a language model for one short text: complete and in time, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, cast

from ragkit.errors import ModelServerError
from ragkit.model.tally import note
from ragkit.types import Decoding, Finish, Message

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel


def ask_model(
    model: LanguageModel,
    prompt: str,
    *,
    max_tokens: int,
    timeout_s: float,
    json_schema: Mapping[str, Any] | None = None,
) -> str:
    """Return a model's complete text, stripped and without its reasoning; `tally` notes its cost.

    Raises ModelServerError, also when the text takes too long, is cut off, or is empty.
    """
    decoding = Decoding(max_tokens=max_tokens, json_schema=json_schema)
    stream = cast("Any", model.stream([Message("user", prompt)], decoding))
    late = threading.Event()

    def stop() -> None:
        late.set()
        with suppress(ValueError):  # a running plain generator ends at its next piece
            stream.close()

    timer = threading.Timer(timeout_s, stop)
    timer.daemon = True
    timer.start()
    pieces_of_text: list[str] = []
    finish: Finish | None = None
    try:
        with closing(stream) as pieces:
            for piece in pieces:
                if late.is_set():
                    break
                if isinstance(piece, str):
                    pieces_of_text.append(piece)
                elif isinstance(piece, Finish):
                    finish = piece
                    note(piece.usage)
    finally:
        timer.cancel()
    text = "".join(pieces_of_text).strip()
    if late.is_set():
        raise ModelServerError(f"model {model.name!r} took longer than {timeout_s:g} s")
    if finish is None or finish.reason == "length":
        raise ModelServerError(f"model {model.name!r} was cut off after {max_tokens} tokens")
    if not text:
        raise ModelServerError(f"model {model.name!r} answered nothing")
    return text
