"""What of a conversation goes into the next prompt, and under which numbers."""

from datetime import UTC, datetime
from uuid import UUID

from ragkit.conversation.memory import recall
from ragkit.store.people.conversations import StoredConversation, StoredTurn, UsedPassage
from ragkit.types import Hit, Turn

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STORED = StoredConversation(UUID(int=1), "default", "t", "", 0, NOW, NOW, 3)


def hit(number: int) -> Hit:
    return Hit(number, number, f"{number}.md", "", None, 0, 4, "text", 1.0)


def turn(ordinal: int, answer: str, used: tuple[int, ...], first_source: int) -> StoredTurn:
    return StoredTurn(
        question=f"question {ordinal}",
        query=f"question {ordinal}",
        answer=answer,
        refused=False,
        reason="",
        used=tuple(UsedPassage(number, number, 1, 0, 4) for number in used),
        first_source=first_source,
        ordinal=ordinal,
    )


def turns_of(*stored: StoredTurn, there: tuple[int, ...] = (1, 2, 3, 4)) -> list[Turn]:
    passages = {number: hit(number) for number in there}
    remembered = recall(
        STORED, stored, passages, count=lambda texts: [1] * len(texts), budget_tokens=1000
    )
    return list(remembered.turns)


def test_turns_keep_their_sources_where_the_numbers_go_on() -> None:
    assert turns_of(turn(1, "A [1].", (1, 2), 1), turn(2, "B [3].", (3,), 3)) == [
        Turn("question 1", "A [1].", (hit(1), hit(2))),
        Turn("question 2", "B [3].", (hit(3),)),
    ]


def test_where_a_prompt_began_anew_the_turns_before_lose_theirs_and_it_grows_from_there() -> None:
    shown = turns_of(
        turn(1, "A [1].", (1, 2), 1), turn(2, "B [1].", (3,), 1), turn(3, "C [2].", (4,), 2)
    )
    assert [one.used for one in shown] == [(), (hit(3),), (hit(4),)]
    assert shown[0].answer.split() == ["A", "."]
    assert [one.answer for one in shown[1:]] == ["B [1].", "C [2]."]


def test_a_turn_whose_passage_is_gone_is_shown_without_sources_and_markers() -> None:
    shown = turns_of(turn(1, "A [1].", (1, 2), 1), there=(1,))
    assert shown[0].used == ()
    assert "[1]" not in shown[0].answer
