"""Questions that a collection's documents answer, for those who do not know what to ask.

They are made of what the documents say, in their language, and each has been asked before it is
suggested: it was answered, with a citation of the document that it was made of.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final

from ragkit.answer.meaning import Meaning
from ragkit.store.documents.browse import Browser, ListedDocument
from ragkit.text.sentences import sentences
from ragkit_serve.page import suggested_en, suggested_zh
from ragkit_serve.page.turn import name_of

if TYPE_CHECKING:
    from ragkit.access.library import Caller, Library
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit_serve.page.words import Language

SUGGESTED: Final = 3
# All arbitrary: what a page may cost that somebody opens.
MAX_DOCUMENTS: Final = 6
MAX_CHARS: Final = 20_000  # of a document
MAX_TRIES: Final = 15
MAX_S: Final = 8.0  # of the tries, once the models are loaded
WAIT_S: Final = 30.0  # for those of another page
MAX_KEPT: Final = 256

_ASKED: Final = re.compile(
    r"(?:[#>*•\s-]|\d{1,9}[.)、](?=\s)|(?:Q|问题?)\d{0,3} ?[.:：、])*+"
    r"(?P<question>[^?？]{4,90}[?？])[\s*]*+"
)
_HEADING: Final = re.compile(r"#{1,6}[ \t]++(?P<heading>.{2,60}?)[ \t#]*+")
_NO_PROSE: Final = ("#", "|", ">", "```", "~~~")
_ITEM: Final = re.compile(r"(?:[-*+•]|\d+[.)、])\s+")


@dataclass(frozen=True, slots=True)
class Drafts:
    """What could be asked of a text, by how natural it sounds."""

    asked: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    about: tuple[str, ...] = ()

    def mixed(self) -> Iterator[str]:
        """Yield one of each kind, then the second of each, and so on."""
        kinds = (self.asked, self.figures, self.definitions, self.headings, self.about)
        yield from dict.fromkeys(filter(None, chain.from_iterable(zip_longest(*kinds))))


def drafts(text: str, title: str, language: str, headings: Sequence[str] = ()) -> Drafts:
    """Make questions of a text in English or Chinese; of another only those that stand in it.

    `headings` are those that the text does not mark by "#".
    """
    lines = [line.strip() for line in text.splitlines()]
    questions = tuple(
        match["question"].strip("* ") for line in lines if (match := _ASKED.fullmatch(line))
    )
    if language not in {"en", "zh"}:
        return Drafts(questions)
    prose = _paragraphs(lines, language)
    pieces = (part[span.start : span.end] for part in prose for span in sentences(part))
    drafted = [
        suggested_zh.from_sentence(piece)
        if language == "zh"
        else suggested_en.from_sentence(piece, text)
        for piece in pieces
        if len(piece) <= 300
    ]
    return Drafts(
        questions,
        tuple(figure for figure, _ in drafted if figure),
        tuple(definition for _, definition in drafted if definition),
        _of_headings([*_headings(lines), *headings], text, title, language),
        (suggested_zh.from_title(title) if language == "zh" else suggested_en.from_title(title),),
    )


def _paragraphs(lines: Sequence[str], language: str) -> Iterator[str]:
    """Yield the paragraphs and list items of a text, each as one line."""
    part: list[str] = []
    for line in [*lines, ""]:
        item = _ITEM.match(line)
        if part and (not line or item or line.startswith(_NO_PROSE)):
            yield ("" if language == "zh" else " ").join(part)
            part = []
        if line and not line.startswith(_NO_PROSE):
            part.append(line[item.end() :] if item else line)


def _headings(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if match := _HEADING.fullmatch(line):
            yield match["heading"].strip("* ")


def _of_headings(headings: Sequence[str], text: str, title: str, language: str) -> tuple[str, ...]:
    dull = suggested_zh.DULL if language == "zh" else suggested_en.DULL
    drafted = (
        suggested_zh.from_heading(heading, title)
        if language == "zh"
        else suggested_en.from_heading(heading, title, text)
        for heading in dict.fromkeys(headings)
        if heading != title and not dull.fullmatch(heading) and not heading.endswith(("?", "？"))
    )
    return tuple(filter(None, drafted))


class Suggestions:
    """The questions suggested for a collection and a reader, made anew when it changes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[object, tuple[object, tuple[str, ...]]] = OrderedDict()
        self._making = threading.Lock()

    def of(
        self, library: Library, caller: Caller, collection: str, language: Language
    ) -> tuple[str, ...]:
        """Return up to three questions, those in a language first.

        One page at a time has them made; none are returned after `WAIT_S` of waiting.

        Raises NotFoundError for a collection that is not there for the caller.
        """
        browser = Browser(library.database.pool, caller.tenant, caller.readers)
        key = (caller.tenant, caller.readers, collection, language)
        stamp, documents = _listed(browser, collection)
        if (ready := self._made(key, stamp)) is not None:
            return ready
        if not documents or not self._making.acquire(timeout=WAIT_S):
            return ()
        try:
            # Meanwhile another page may have had them made, or the next file has come.
            stamp, documents = _listed(browser, collection)
            if (ready := self._made(key, stamp)) is not None:
                return ready
            newest = sorted(
                documents, key=lambda document: (document.language != language, -document.id)
            )
            kb = quoting(library, caller, collection)
            questions, is_whole = answered(kb, browser, newest[:MAX_DOCUMENTS])
            if is_whole:
                self._keep(key, stamp, questions)
        finally:
            self._making.release()
        return questions

    def _made(self, key: object, stamp: object) -> tuple[str, ...] | None:
        """Return the questions that were made for these documents; None without any."""
        stored = self._kept.get(key)
        return stored[1] if stored is not None and stored[0] == stamp else None

    def _keep(self, key: object, stamp: object, questions: tuple[str, ...]) -> None:
        self._kept[key] = (stamp, questions)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)


def _listed(browser: Browser, collection: str) -> tuple[object, Sequence[ListedDocument]]:
    """List a collection's documents, with a stamp that changes when they do."""
    listed = browser.collection(collection)
    documents = browser.documents(collection, limit=50)
    versions = [(document.id, document.version) for document in documents]
    return (listed.documents, listed.chunks, versions), documents


def quoting(library: Library, caller: Caller, collection: str) -> KnowledgeBase:
    """Return a caller's collection as it answers without a language model, which costs little."""
    from ragkit.knowledge import build
    from ragkit.knowledge.base import KnowledgeBase

    kb = library.open(caller, collection)
    settings = library.settings.model_copy(update={"llm_url": None, "llm_model": None})
    return KnowledgeBase(
        kb.store,
        kb.embedder,
        build.generator(settings, kb.store, collection, meaning=Meaning(kb.embedder)),
        collection=collection,
        gate=kb.gate,
        entails=kb.entails,
        distinct=kb.distinct,
        reranker=kb.reranker,
        refinements=kb.refinements,
        candidates=kb.candidates,
        widening=kb.widening,
    )


def answered(
    kb: KnowledgeBase, browser: Browser, documents: Sequence[ListedDocument]
) -> tuple[tuple[str, ...], bool]:
    """Draft questions from each document in turn; return the first that are answered from it.

    The flag is False where time has cut the tries off. The first try also loads the models, which
    takes as long as it takes.
    """
    ends = inf
    by_document = [
        [(document.id, draft) for draft in _drafts(browser, document)] for document in documents
    ]
    in_turn = (pair for pair in chain.from_iterable(zip_longest(*by_document)) if pair is not None)
    suggested: dict[str, None] = {}
    for tries, (document, question) in enumerate(in_turn):
        if len(suggested) == SUGGESTED or tries == MAX_TRIES:
            break
        if tries and monotonic() > ends:
            return tuple(suggested), False
        answer = kb.ask(question)
        ends = min(ends, monotonic() + MAX_S)
        if not answer.refused and any(cited.document == document for cited in answer.citations):
            suggested[question] = None
    return tuple(suggested), True


def _drafts(browser: Browser, document: ListedDocument) -> Iterator[str]:
    excerpt = browser.excerpt(document.id, 0, MAX_CHARS)
    headings = [heading for chunk in excerpt.chunks for heading in chunk.headings]
    title = name_of(document.title, document.uri)
    return drafts(excerpt.text, title, document.language, headings).mixed()
