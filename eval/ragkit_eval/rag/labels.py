"""Find a set's labelled documents in a collection, and check the labelled spans.

A document is named by its URI or by an unambiguous end of it: a file name, with its suffix or
without.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import PurePosixPath

from ragkit.contracts import Store
from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.sets import Excerpt, LabelledSet, file_stem
from ragkit_eval.sets.lines import check_place

_MAX_URIS = 3  # in a message of one line


def locate(labelled: LabelledSet, store: Store, collection: str) -> Mapping[str, str]:
    """Map each labelled document to its URI in the collection, and check all spans.

    Of files with the same content one is stored, whose URI is used for the others too. A document
    that the labels judge but that is not among the set's documents is left out, because no search
    can find it. Raises NotFoundError and UsageError naming the question's line.
    """
    documents = {document.uri: document.id for document in store.documents(collection)}
    files = _map_files(store, collection, documents)
    names = Names(files)
    uris: dict[str, str] = {}
    texts: dict[str, str] = {}
    for name, where in _labelled_documents(labelled):
        if name not in uris and (not labelled.documents or name in labelled.documents):
            uris[name] = files[
                names.resolve(name, where, collection, in_set=bool(labelled.documents))
            ]
    for excerpt, where in _labelled_spans(labelled):
        uri = uris[excerpt.document]
        if uri not in texts:
            texts[uri] = store.text(documents[uri])
        check_place(excerpt, texts[uri], where)
    return uris


def _map_files(store: Store, collection: str, stored: Iterable[str]) -> dict[str, str]:
    """Map each file of a collection to the URI of the document with its content."""
    contents = {uri: content for uri, (content, _) in store.known(collection).items()}
    holders = {contents[uri]: uri for uri in stored if uri in contents}
    copies = {uri: holders[content] for uri, content in contents.items() if content in holders}
    return copies | {uri: uri for uri in stored}


class Names:
    """Finds documents by their names in labels."""

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

    def resolve(self, name: str, where: str, collection: str, *, in_set: bool) -> str:
        """Return the URI that a name means; `in_set` says that the set has the document.

        Raises NotFoundError, and UsageError if several URIs match.
        """
        uris = self.find(name)
        if len(uris) == 1:
            return uris[0]
        if uris:
            raise UsageError(
                f"{where}: {name!r} may be {_list_uris(uris)} in collection {collection!r}: write"
                " more of its URI"
            )
        raise NotFoundError(
            f"{where}: there is no document {name!r} in collection {collection!r}:"
            f" {self._suggest_remedy(name, in_set=in_set)}"
        )

    def _suggest_remedy(self, name: str, *, in_set: bool) -> str:
        if in_set:
            return "ingest the set's own documents with --documents"
        last = PurePosixPath(name).stem
        close = get_close_matches(last, self._stems, n=_MAX_URIS)
        uris = [uri for stem in close for uri in self._stems[stem]]
        return f"close are {_list_uris(uris)}" if uris else "ingest it, or correct the label"


def _labelled_documents(labelled: LabelledSet) -> Iterator[tuple[str, str]]:
    for question in labelled.questions:
        where = question.where or f"question {question.id!r}"
        for name in question.relevant:
            yield name, where
        for excerpt in question.excerpts:
            yield excerpt.document, where


def _labelled_spans(labelled: LabelledSet) -> Iterator[tuple[Excerpt, str]]:
    for question in labelled.questions:
        for excerpt in question.excerpts:
            yield excerpt, question.where or f"question {question.id!r}"


def _list_uris(uris: Sequence[str]) -> str:
    listed = ", ".join(repr(uri) for uri in uris[:_MAX_URIS])
    return listed if len(uris) <= _MAX_URIS else f"{listed} or one of {len(uris) - _MAX_URIS} more"
