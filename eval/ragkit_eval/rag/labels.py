"""Find the documents that a set's labels name in a collection, and check the labelled spans there.

A document is named by its URI or by any unambiguous end of it: a file name, with its suffix or
without. Knows nothing of questions' texts and of what is retrieved.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import PurePosixPath

from ragkit.contracts import Store
from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.sets import Excerpt, LabelledSet, file_stem
from ragkit_eval.sets.lines import check_place

_MAX_URIS = 3  # what a line can hold


def locate(labelled: LabelledSet, store: Store, collection: str) -> Mapping[str, str]:
    """Map each document that a label names to its URI in the collection, and check all spans.

    Of files with the same content one is stored, whose URI stands for the others'.
    A document that the set itself does not hold, but judges, is left out: nothing can find it.
    Raises NotFoundError and UsageError naming the question's line.
    """
    documents = {document.uri: document.id for document in store.documents(collection)}
    homes = _homes(store, collection, documents)
    names = Names(homes)
    uris: dict[str, str] = {}
    texts: dict[str, str] = {}
    for name, where in _named(labelled):
        if name not in uris and (not labelled.documents or name in labelled.documents):
            uris[name] = homes[names.one(name, where, collection, own=bool(labelled.documents))]
    for excerpt, where in _places(labelled):
        uri = uris[excerpt.document]
        if uri not in texts:
            texts[uri] = store.text(documents[uri])
        check_place(excerpt, texts[uri], where)
    return uris


def _homes(store: Store, collection: str, stored: Iterable[str]) -> dict[str, str]:
    """Map each file of a collection to the URI of the document that has its content."""
    contents = {uri: content for uri, (content, _) in store.known(collection).items()}
    holders = {contents[uri]: uri for uri in stored if uri in contents}
    copies = {uri: holders[content] for uri, content in contents.items() if content in holders}
    return copies | {uri: uri for uri in stored}


class Names:
    """Looks documents up by what people call them."""

    def __init__(self, uris: Iterable[str]) -> None:
        self._uris = dict.fromkeys(uris)
        self._ends: dict[str, list[str]] = defaultdict(list)
        self._stems: dict[str, list[str]] = defaultdict(list)
        for uri in self._uris:
            path = PurePosixPath(uri)
            self._ends[path.name].append(uri)
            self._stems[path.stem].append(uri)

    def find(self, name: str) -> Sequence[str]:
        """Return the URIs that a name may mean: exactly, else by its end, else by its stem."""
        if name in self._uris:
            return [name]
        last = PurePosixPath(name).name
        ends = [uri for uri in self._ends[last] if uri.endswith(f"/{name}") or name == last]
        return ends or self._stems[name] or self._stems[file_stem(name)]

    def one(self, name: str, where: str, collection: str, *, own: bool) -> str:
        """Return the URI that a name means; `own` says that the set itself has the document.

        Raises NotFoundError, UsageError if it may mean several.
        """
        found = self.find(name)
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                f"{where}: {name!r} may be {_listed(found)} in collection {collection!r}: write"
                " more of its URI"
            )
        raise NotFoundError(
            f"{where}: there is no document {name!r} in collection {collection!r}:"
            f" {self._remedy(name, own=own)}"
        )

    def _remedy(self, name: str, *, own: bool) -> str:
        if own:
            return "ingest the set's own documents with --documents"
        last = PurePosixPath(name).stem
        close = get_close_matches(last, self._stems, n=_MAX_URIS)
        uris = [uri for stem in close for uri in self._stems[stem]]
        return f"close are {_listed(uris)}" if uris else "ingest it, or correct the label"


def _named(labelled: LabelledSet) -> Iterator[tuple[str, str]]:
    for question in labelled.questions:
        where = question.where or f"question {question.id!r}"
        for name in question.relevant:
            yield name, where
        for excerpt in question.excerpts:
            yield excerpt.document, where


def _places(labelled: LabelledSet) -> Iterator[tuple[Excerpt, str]]:
    for question in labelled.questions:
        for excerpt in question.excerpts:
            yield excerpt, question.where or f"question {question.id!r}"


def _listed(uris: Sequence[str]) -> str:
    shown = ", ".join(repr(uri) for uri in uris[:_MAX_URIS])
    return shown if len(uris) <= _MAX_URIS else f"{shown} or one of {len(uris) - _MAX_URIS} more"
