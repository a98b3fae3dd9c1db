"""Writers, copiers and deleters of the same few files at once: nobody waits for ever, nothing is
left half done.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import LeaseLostError
from ragkit.retrieve.words.search import search_words
from ragkit.store.connection.rows import first_value
from ragkit.store.documents.copies import remove_uris
from ragkit.store.documents.documents import uri_key
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from ragkit.testing import new_document
from ragkit.types import EmbeddingSpace

Pool = ConnectionPool[Connection[Any]]
SPACE = EmbeddingSpace("model", "1", 4)
ROW = np.eye(4, dtype=np.float32)[:1]
URIS, TEXTS = ("a", "b", "d", "e"), ("red", "green", "blue")
THREADS, STEPS = 4, 40


def test_at_once(pool: Pool) -> None:
    store = PostgresStore(pool, durable=False)
    number = store.create_collection("c").id

    def work(seed: int) -> int:
        chance, done = random.Random(seed), 0
        with store.job_ledger.worker(number) as worker:
            for _ in range(STEPS):
                uri, text = chance.choice(URIS), chance.choice(TEXTS)
                if chance.random() < 0.2:
                    store.delete_uris("c", [uri, chance.choice(URIS)])
                    continue
                for job in worker.take([(uri, text)]):
                    same = store.holders("c", [text], "test").get(text)
                    try:
                        if same is None or not store.put_copy(
                            "c", uri, (text, "test"), same, job=job
                        ):
                            new = replace(new_document(uri, text), content_hash=text)
                            store.put_document("c", new, SPACE, ROW, job=job)
                        done += 1
                    except LeaseLostError:
                        continue
        return done

    with ThreadPoolExecutor(THREADS) as threads:
        assert all(threads.map(work, range(THREADS), timeout=60))
    with pool.connection() as conn:
        query = "SELECT uri FROM document UNION ALL SELECT uri FROM document_copy"
        uris = [uri for (uri,) in conn.execute(query)]
        assert sorted(uris) == sorted(set(uris))  # each is a document or a copy
        wrong = (
            "SELECT k.uri FROM document_copy k JOIN document d ON d.id = k.document_id"
            " WHERE k.content_hash <> d.content_hash"
        )
        assert conn.execute(wrong).fetchall() == []
    known = store.known("c")
    for text in TEXTS:
        with store.snapshot() as reader:
            found = reader.hits([chunk for chunk, _ in search_words(reader, "c", text, 99).best])
            assert {hit.text for hit in found} <= {text}
            documents = {hit.document for hit in found}
        named = store.named("c")
        of_text = {named[uri] for uri, (content, _) in known.items() if content == text}
        assert documents == of_text


def test_a_file_that_becomes_an_heir_meanwhile_is_no_copy(pool: Pool) -> None:
    store = PostgresStore(pool, durable=False)
    number = store.create_collection("c").id
    ids = {}
    for uri, text in (("z", "red"), ("x", "blue")):
        new = replace(new_document(uri, text), content_hash=text)
        ids[uri] = store.put_document("c", new, SPACE, ROW).id
    assert store.put_copy("c", "d", ("red", "test"), ids["z"])
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with ThreadPoolExecutor(1) as threads:
        with open_session(pool, "default") as session:  # the document of z becomes that of d
            remove_uris(session, number, [uri_key("z")])
            putting = threads.submit(store.put_copy, "c", "d", ("blue", "test"), ids["x"])
            with pool.connection() as conn:
                while not first_value(conn.cursor(), waiting):
                    assert not putting.done()
        assert not putting.result()
    assert store.copies("c") == {}
    assert sorted(store.named("c")) == ["d", "x"]
