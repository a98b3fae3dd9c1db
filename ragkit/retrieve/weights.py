"""How much each term says in a collection: its idf there, now. Reads postings, scores nothing."""

from collections.abc import Collection

from ragkit.contracts import Store
from ragkit.retrieve.bm25 import idf


def term_weights(store: Store, collection: str, terms: Collection[str]) -> dict[str, float]:
    """Return each term's idf among the collection's chunks; one in none of them weighs most.

    Raises NotFoundError for an unknown collection.
    """
    with store.snapshot() as reader:
        postings = reader.postings(collection, list(terms))
    found = {term: len(chunks) for term, (chunks, _, _) in postings.terms.items()}
    return {term: idf(postings.chunks, found.get(term, 0)) for term in terms}
