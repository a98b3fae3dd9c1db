"""How much each term says in a collection: its idf there, now. Reads postings, scores nothing."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ragkit.retrieve.words.bm25 import idf
from ragkit.text.analyse import ANALYSER, analyse
from ragkit.text.analysers import Analyser, analyser

if TYPE_CHECKING:
    from ragkit.contracts import Store
    from ragkit.postings import Postings

# Chunks of other words that a collection is taken to have besides: in one of few chunks a word that
# it lacks would otherwise weigh five times as much as one that it has. By judgement.
PRIOR_CHUNKS = 20

# English endings that the stemmer takes off, and what it leaves of "-y" and "-e".
_ENDINGS = ("", "s", "es", "e", "ed", "ing", "y", "ies", "ied")


def term_weights(store: Store, collection: str, terms: Collection[str]) -> dict[str, float]:
    """Return each term's idf among the collection's chunks and a few more without it.

    A term in none of the chunks weighs most.

    Terms are the default analyser's. Where a collection has another one, a term weighs what the
    commonest of its words weighs there; a pair of CJK characters that is no word there, as much as
    the others do on average. Raises NotFoundError for an unknown collection.
    """
    with store.snapshot() as reader:
        name = reader.analyser(collection)
        if name == ANALYSER:
            return _weights(reader.postings(collection, list(terms)), {t: [t] for t in terms})
        forms = {term: _forms(term, analyser(name)) for term in terms}
        postings = reader.postings(collection, [form for some in forms.values() for form in some])
    found = _weights(postings, forms)
    said = {
        term
        for term in terms
        if term.isascii() or not postings.terms.keys().isdisjoint(forms[term])
    }
    usual = (
        sum(found[term] for term in said) / len(said)
        if said
        else idf(postings.chunks + PRIOR_CHUNKS, 0)
    )
    return {term: found[term] if term in said else usual for term in terms}


def _weights(postings: Postings, forms: dict[str, list[str]]) -> dict[str, float]:
    return {
        term: idf(
            postings.chunks + PRIOR_CHUNKS,
            max((postings.terms[t].containing for t in some if t in postings.terms), default=0),
        )
        for term, some in forms.items()
    }


def _forms(term: str, other: Analyser) -> list[str]:
    """List the terms that another analyser makes of words that the default one makes this of."""
    bases = (term, term[:-1]) if term.isascii() else (term,)
    words = [base + ending for base in bases for ending in (_ENDINGS if term.isascii() else ("",))]
    analysed = [(word, other(word)) for word in words if word and analyse(word) == [term]]
    return list(dict.fromkeys(found[0] for _, found in analysed if len(found) == 1))
