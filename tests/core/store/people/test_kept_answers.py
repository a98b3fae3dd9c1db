"""Kept answers on the real database: given back as they were, one's own, and not for ever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.errors import NotFoundError
from ragkit.store.open import Database, open_database
from ragkit.store.people.kept_answers import KeptAnswers
from ragkit.types import Answer

ANSWER = Answer("25 days.", False, "")


@pytest.fixture
def database(fresh_database: str) -> Iterator[Database]:
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        yield database


def of(
    database: Database, tenant: str = "default", principal: str = "me", keep_days: int = 30
) -> KeptAnswers:
    return KeptAnswers(database.pool, tenant, principal, keep_days=keep_days)


def keep(kept: KeptAnswers, id: str, completion: Any = None) -> None:
    kept.keep(
        id,
        collection="hr",
        question="How long?",
        answer=ANSWER,
        completion=completion or {"id": id},
    )


def age(database: Database, id: str, interval: str) -> None:
    with database.pool.connection() as conn:
        conn.execute(
            "UPDATE kept_answer SET created_at = now() - %s::interval WHERE id = %s", (interval, id)
        )


def ids(database: Database) -> list[str]:
    with database.pool.connection() as conn:
        return [row[0] for row in conn.execute("SELECT id FROM kept_answer ORDER BY id")]


def missing(kept: KeptAnswers, id: str, **options: Any) -> bool:
    for act in (kept.completion, kept.delete):
        with pytest.raises(NotFoundError, match="there is no kept answer"):
            act(id, **options)
    return True


def test_a_completion_is_given_back_as_it_was(database: Database) -> None:
    kept = of(database)
    completion = {"id": "a", "choices": [{"text": "假 \0 \U0001f600", "score": 0.1, "n": None}]}
    keep(kept, "a", completion)
    assert kept.completion("a") == completion
    keep(kept, "b", {"text": "\ud800"})  # half a character, which no text can be sent with
    assert kept.completion("b") == {"text": "?"}


def test_what_is_kept_under_an_id_stays(database: Database) -> None:
    kept = of(database)
    keep(kept, "a", {"n": 1})
    keep(kept, "a", {"n": 2})
    assert kept.completion("a") == {"n": 1}


def test_only_ones_own_are_there_and_of_the_collections_that_one_may_see(
    database: Database,
) -> None:
    mine = of(database)
    keep(mine, "a")
    assert missing(of(database, principal="you"), "a")
    assert missing(of(database, tenant="other"), "a")
    assert missing(mine, "a", collections=("finance",))
    assert missing(mine, "a", collections=())
    assert mine.completion("a", collections=("finance", "hr")) == {"id": "a"}
    mine.delete("a", collections=("hr",))
    assert missing(mine, "a")
    assert ids(database) == []


@pytest.mark.parametrize("id", ["", "b", "a b", "\0", "\ud800", "a" * 201])
def test_what_was_never_kept_is_not_there(database: Database, id: str) -> None:
    assert missing(of(database), id)


def test_nothing_is_kept_under_what_is_no_id(database: Database) -> None:
    with pytest.raises(NotFoundError):
        keep(of(database), "a b")
    assert ids(database) == []


def test_what_is_too_old_is_not_found_and_swept_when_another_is_kept(database: Database) -> None:
    mine = of(database)
    for id in ("old", "young"):
        keep(mine, id)
    keep(of(database, "other", "you"), "theirs")
    age(database, "old", "30 days")
    age(database, "theirs", "30 days")
    age(database, "young", "29 days 23:59:00")
    assert missing(mine, "old")
    assert mine.completion("young") == {"id": "young"}
    assert of(database, keep_days=31).completion("old") == {"id": "old"}
    assert ids(database) == ["old", "theirs", "young"]
    keep(mine, "new")
    assert ids(database) == ["new", "young"]
    assert missing(of(database, keep_days=29), "young")  # a shorter time counts at once
    keep(of(database, keep_days=29), "newest")
    assert ids(database) == ["new", "newest"]
