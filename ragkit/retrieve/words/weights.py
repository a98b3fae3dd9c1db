"""The weight of terms in a collection: their current idf."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ragkit.retrieve.words.bm25 import idf
from ragkit.text.analyse import ANALYSER, analyse
from ragkit.text.analysers import Analyser, analyser

if TYPE_CHECKING:
    from ragkit.contracts import Reader, Store
    from ragkit.text.postings import Postings

# Chunks without the term that are added to a collection: in a small one, a word that it lacks would
# otherwise weigh five times as much as a word that it has. By judgement.
PRIOR_CHUNKS = 20

# English endings that the stemmer removes, and what it leaves of "-y" and "-e".
_ENDINGS = ("", "s", "es", "e", "ed", "ing", "y", "ies", "ied")


def term_weights(store: Store, collection: str, terms: Collection[str]) -> dict[str, float]:
    """Return what `read_weights` does, of the store as it is now."""
    with store.snapshot() as reader:
        return read_weights(reader, collection, terms)


def read_weights(reader: Reader, collection: str, terms: Collection[str]) -> dict[str, float]:
    """Return each term's idf among the collection's chunks and a few more without it.

    A term in none of the chunks weighs most.

    Terms are the default analyser's. Where a collection has another one, a term weighs what the
    commonest of its words weighs there; a pair of CJK characters that is no word there, as much as
    the others do on average. Raises NotFoundError for an unknown collection.
    """
    name = reader.analyser(collection)
    if name == ANALYSER:
        return _weights(reader.postings(collection, list(terms)), {word: [word] for word in terms})
    forms = {term: _forms(term, analyser(name)) for term in terms}
    postings = reader.postings(collection, [form for words in forms.values() for form in words])
    weights = _weights(postings, forms)
    known_terms = {
        term
        for term in terms
        if term.isascii() or not postings.terms.keys().isdisjoint(forms[term])
    }
    average = (
        sum(weights[term] for term in known_terms) / len(known_terms)
        if known_terms
        else idf(postings.chunks + PRIOR_CHUNKS, 0)
    )
    return {term: weights[term] if term in known_terms else average for term in terms}


def _weights(postings: Postings, forms: dict[str, list[str]]) -> dict[str, float]:
    return {
        term: idf(
            postings.chunks + PRIOR_CHUNKS,
            max((postings.terms[t].containing for t in words if t in postings.terms), default=0),
        )
        for term, words in forms.items()
    }


def _forms(term: str, target: Analyser) -> list[str]:
    """List another analyser's terms for the words that the default one turns into this term."""
    bases = (term, term[:-1]) if term.isascii() else (term,)
    words = [base + ending for base in bases for ending in (_ENDINGS if term.isascii() else ("",))]
    analysed = [(word, target(word)) for word in words if word and analyse(word) == [term]]
    return list(dict.fromkeys(terms[0] for _, terms in analysed if len(terms) == 1))
