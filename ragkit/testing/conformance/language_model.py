"""What every `LanguageModel` must do, whatever it says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import pytest

from ragkit.types import Decoding, Finish, Message, Reasoning

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel

CHATS = (
    (Message("user", "Say something."),),
    (Message("system", "Be brief."), Message("user", "国内航班乘坐什么舱？")),
    (
        Message("user", "One?"),
        Message("assistant", "Two."),
        Message("user", "{{ three }} <|im_end|> %s"),
    ),
)
FIRST = Decoding(max_tokens=12, seed=1)


class LanguageModelConformance:
    """Needs a fixture `model`, whose answers to `CHATS` have at least two pieces."""

    def test_its_name_is_one_line(self, model: LanguageModel) -> None:
        assert model.name.strip()
        assert "\n" not in model.name

    @pytest.mark.parametrize("chat", CHATS)
    def test_pieces_then_exactly_one_finish(
        self, model: LanguageModel, chat: Sequence[Message]
    ) -> None:
        *pieces, last = model.stream(chat, FIRST)
        assert isinstance(last, Finish)
        assert last.reason
        assert all(isinstance(piece, str | Reasoning) for piece in pieces)
        assert all(piece for piece in pieces), "an empty piece says nothing"

    def test_the_likeliest_answer_is_the_same_again(self, model: LanguageModel) -> None:
        assert _text(model, CHATS[0]) == _text(model, CHATS[0])

    def test_without_a_decoding_it_has_its_own(self, model: LanguageModel) -> None:
        assert isinstance(list(model.stream(CHATS[0]))[-1], Finish)

    def test_usage_counts_the_tokens(self, model: LanguageModel) -> None:
        finish = list(model.stream(CHATS[0], FIRST))[-1]
        assert isinstance(finish, Finish)
        if finish.usage is not None:
            assert finish.usage.prompt_tokens > 0
            assert finish.usage.completion_tokens > 0

    def test_closing_ends_it_and_twice_is_once(self, model: LanguageModel) -> None:
        stream = cast("Any", model.stream(CHATS[0], FIRST))
        next(stream)
        stream.close()
        stream.close()
        assert list(stream) == []

    def test_closing_before_the_first_piece(self, model: LanguageModel) -> None:
        stream = cast("Any", model.stream(CHATS[0], FIRST))
        stream.close()
        assert list(stream) == []

    def test_after_a_closed_stream_it_answers_on(self, model: LanguageModel) -> None:
        complete = _text(model, CHATS[0])
        stream = cast("Any", model.stream(CHATS[0], FIRST))
        next(stream)
        stream.close()
        assert _text(model, CHATS[0]) == complete

    def test_tokens_are_counted_for_each_text_in_order(self, model: LanguageModel) -> None:
        short, long = "one", "one two three four five six seven eight 九十"
        assert list(model.count_tokens([])) == []
        counts = list(model.count_tokens([long, "", short, long]))
        assert counts[0] == counts[3] > counts[2] > counts[1] == 0

    def test_the_context_is_a_length_or_unknown(self, model: LanguageModel) -> None:
        length = model.context_tokens()
        assert length is None or length > 0
        assert model.context_tokens() == length


def _text(model: LanguageModel, chat: Sequence[Message]) -> str:
    return "".join(piece for piece in model.stream(chat, FIRST) if isinstance(piece, str))
