"""The analysers that a collection's words can be indexed by, each with a name that is kept.

The default one, `ragkit.text.analyse`, is used for everything else. A name says all that terms
depend on; what has one name must never come to make other terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from ragkit.errors import SettingsError
from ragkit.text.analyse import FIRST_ANALYSER, MAX_TERM_CHARS, pairs, split, stem_english, units
from ragkit.text.numbering import Numbers
from ragkit.text.terms import Terms, WordTerms
from ragkit.text.variants import fold_variants


@dataclass(frozen=True, slots=True)
class Analyser:
    """Makes terms of text: words one by one, runs of CJK characters at once."""

    name: str
    word: Callable[[str], str]
    run: Callable[[str], Sequence[str]]
    fold: Callable[[str], str]

    def __call__(self, text: str) -> list[str]:
        """Split text into the terms it is indexed and searched by."""
        return split(text, self.word, self.run, fold=self.fold)

    def units(self, text: str) -> list[str]:
        """Split text into words and single CJK characters, which phrases are compared by."""
        return units(text, self.word, fold=self.fold)

    @property
    def pairs(self) -> bool:
        """Tell whether runs of CJK characters become overlapping pairs."""
        return self.run is pairs


@dataclass(frozen=True, slots=True)
class ChunkTerms:
    """The terms of a text's chunks, and the name of the analyser that made them."""

    analyser: str
    terms: Terms


_STEMS: Final = {"english": "+english-stem", "none": ""}
_RUNS: Final = {"bigrams": "cjk-bigrams", "rjieba": "rjieba"}
_NEWEST: Final = "/2"


def analyser_name(stem: Literal["english", "none"], cjk: Literal["bigrams", "rjieba"]) -> str:
    """Name the analyser that settings choose.

    >>> analyser_name("english", "bigrams")
    'nfkc-casefold+english-stem+cjk-bigrams/2'
    """
    return f"nfkc-casefold{_STEMS[stem]}+{_RUNS[cjk]}{_NEWEST}"


def newest(name: str) -> str:
    """Name the analyser that has taken an analyser's place; one that is current is its own.

    >>> newest("nfkc-casefold+rjieba/1")
    'nfkc-casefold+rjieba/2'
    """
    return f"{name.removesuffix('/1')}{_NEWEST}" if name.endswith("/1") else name


def name_from(settings: Mapping[str, Any]) -> str:
    """Return the name of a collection's analyser; `settings` are those that the collection keeps.

    >>> name_from({})  # a collection from before there were several
    'nfkc-casefold+english-stem+cjk-bigrams/1'
    """
    return str(settings.get("analyser", FIRST_ANALYSER))


def earlier(name: str) -> list[str]:
    """List an analyser and those whose place it has taken.

    >>> earlier("nfkc-casefold+rjieba/2")
    ['nfkc-casefold+rjieba/2', 'nfkc-casefold+rjieba/1']
    """
    return [name, f"{name.removesuffix(_NEWEST)}/1"] if name.endswith(_NEWEST) else [name]


@cache
def analyser(name: str) -> Analyser:
    """Return the analyser of a name.

    Raises SettingsError for one that is not known, or whose package is missing.
    """
    for stem, word in (("english", stem_english), ("none", _as_it_is)):
        for cjk in _RUNS:
            for version, fold in (("/1", _as_it_is), (_NEWEST, fold_variants)):
                if name == f"nfkc-casefold{_STEMS[stem]}+{_RUNS[cjk]}{version}":
                    run = pairs if cjk == "bigrams" else _segmenter()
                    return Analyser(name, word, run, fold)
    raise SettingsError(
        f"A collection's words were indexed by {name!r}, which this ragkit does not know: upgrade"
        " ragkit, or ingest the documents into a new collection."
    )


@cache
def terms_by(name: str) -> WordTerms:
    """Return what makes terms of many texts by the analyser of a name, and keeps its words."""
    return WordTerms(analyser(name))


def join_terms(parts: Sequence[Terms]) -> Terms:
    """Join the terms of texts, in order; each name stands in it once.

    >>> joined = join_terms([Terms.of([["b", "a"]]), Terms.of([[], ["c", "b"]])])
    >>> list(joined), list(joined.names)
    ([['b', 'a'], [], ['c', 'b']], ['b', 'a', 'c'])
    """
    import numpy as np

    numbering = Numbers[str]()
    moved = [numbering.of(part.names, len(part.names))[part.numbers] for part in parts]
    lengths = [np.empty(0, np.int64), *(part.lengths for part in parts)]
    return Terms(
        numbering.new, np.concatenate([np.empty(0, np.int32), *moved]), np.concatenate(lengths)
    )


def used_terms(terms: Terms) -> Terms:
    """Return the same terms with the names of those that occur only.

    >>> list(used_terms(Terms(["a", "b", "c"], [2, 0], [2])).names)
    ['a', 'c']
    """
    import numpy as np

    used, numbers = np.unique(terms.numbers, return_inverse=True)
    names = list(map(terms.names.__getitem__, used.tolist()))
    return Terms(names, numbers.astype(np.int32), terms.lengths)


def _as_it_is(text: str) -> str:
    return text


def _segmenter() -> Callable[[str], Sequence[str]]:
    try:
        import rjieba
    except ImportError as error:
        raise SettingsError(
            "Chinese words are to be found by rjieba, which is not installed: pip install"
            " 'ragkit[rjieba]', or set RAGKIT_CJK=bigrams for new collections."
        ) from error
    return lambda run: [word[:MAX_TERM_CHARS] for word in rjieba.cut(run)]
