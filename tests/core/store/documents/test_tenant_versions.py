"""Old versions under row-level security, as the role that programs run as."""

from __future__ import annotations

import pytest

from ragkit.errors import NotFoundError
from ragkit.retrieve.words.search import search_words
from ragkit.store.documents.history import History
from ragkit.store.open import open_database
from tests.core.store.conftest import Tenanted
from tests.core.store.documents.test_versions import QUERY, now
from tests.core.store.test_postgres import SPACE, document, unit


def test_a_tenants_old_versions_are_its_own(tenanted: Tenanted) -> None:
    vector = unit(1, 0, 0, 0)
    with open_database(tenanted.settings_with(keep_versions=2)) as database:
        one, two = database.store("one"), database.store("two")
        for store in (one, two):
            store.create_collection("c")
        number = one.put_document("c", document("u", "old wing"), SPACE, vector).id
        two.put_document("c", document("u", "other flow"), SPACE, vector)
        moment = now(database.pool)
        one.put_document("c", document("u", "new wing"), SPACE, vector)
        with one.as_of(moment).snapshot() as reader:
            ((chunk, _),) = search_words(reader, "c", "old", 5).best
            assert [near for near, _ in reader.nearest("c", SPACE, QUERY, 5)] == [chunk]
        with two.as_of(moment).snapshot() as reader:
            assert not search_words(reader, "c", "old", 5).best
            assert chunk not in dict(reader.nearest("c", SPACE, QUERY, 5))
            assert reader.hits([chunk]) == []
        with pytest.raises(NotFoundError):
            History(database.pool, "two").of(number)
        old = History(database.pool, "one").of(number)[1].id
        with pytest.raises(NotFoundError):
            two.text(old)
        assert History(database.pool, "one").restore(number, 1).version == 3
        assert one.text(number) == "old wing"
        one.delete_document("c", number)
        with pytest.raises(NotFoundError):
            one.text(old)
