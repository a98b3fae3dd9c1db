"""Text splitters of langchain-text-splitters by the name of the class: `langchain:NAME`.

Lengths are counted in the embedder's tokens. A splitter returns copies, not places: each piece is
found again in the text, white space apart.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import IngestError, SettingsError
from ragkit.types import Chunk, ParsedText, Span
from ragkit_ingest.split.contract import Splitter, Tokenise
from ragkit_ingest.split.cutter import Cutter
from ragkit_ingest.split.layout import Layout, Piece
from ragkit_ingest.split.recover import Recovery
from ragkit_ingest.split.sizes import Sizes, sizes_of

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.settings.ingest_options import IngestOptions

# What takes something else than text, or measures with another model than the collection's.
_REFUSED: Final = {
    "HTMLHeaderTextSplitter": "it cuts HTML, and what is parsed is text by then",
    "HTMLSectionSplitter": "it cuts HTML, and what is parsed is text by then",
    "HTMLSemanticPreservingSplitter": "it cuts HTML, and what is parsed is text by then",
    "RecursiveJsonSplitter": "it cuts JSON values, and what is parsed is text by then",
    "SentenceTransformersTokenTextSplitter": "it loads a model of its own; take fixed",
    "TokenTextSplitter": "it counts another model's tokens; take fixed",
    "TextSplitter": "it is what the others are made of",
}
_LENGTHS: Final = 4096  # kept, since the same pieces are measured again and again; arbitrary
_HEADERS: Final = [("#" * level, f"h{level}") for level in range(1, 7)]


class LangChain:
    """Cut with another's splitter; what is over the limit is cut further, as structural does.

    What the splitter leaves out is in no chunk.
    """

    covers = False

    def __init__(self, name: str, token_spans: Tokenise, sizes: Sizes) -> None:
        self._name = name
        self._token_spans = token_spans
        self._sizes = sizes
        self._splitter = _make_splitter(name, token_spans, sizes)
        self.max_tokens = sizes.tokens

    def split(self, parsed: ParsedText, spans: Sequence[Span]) -> tuple[Chunk, ...]:
        """Cut a text, as the contract says.

        Raises IngestError when a piece is not in the text: the splitter changed it.
        """
        layout = Layout(parsed, spans, self._token_spans)
        return layout.chunks(self._pieces(layout))

    def _pieces(self, layout: Layout) -> Iterator[Piece]:
        recovery = Recovery(layout.text)
        cutter = Cutter(layout, Sizes(self._sizes.tokens, 0))
        done = 0
        for text in self._texts(layout.text):
            low = layout.ruler.back(done, self._sizes.overlap)
            span = recovery.find(text, low)
            if span is None:
                raise IngestError(
                    "chunk",
                    f"langchain:{self._name} changed the text: {_excerpt(text)} is not in the"
                    " document; choose another splitter",
                )
            if span.end <= done:  # nothing new, such as white space or a repetition
                continue
            tokens = layout.ruler.count(span.start, span.end)
            if tokens <= self._sizes.tokens:
                yield Piece(span.start, span.end, tokens)
            else:
                yield from cutter.pieces(span.start, span.end)
            done = span.end

    def _texts(self, text: str) -> list[str]:
        try:
            pieces = self._splitter.split_text(text)
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            reason = f"langchain:{self._name} failed: {error or type(error).__name__}"
            raise IngestError("chunk", reason) from error
        return [piece if isinstance(piece, str) else piece.page_content for piece in pieces]


def make(options: IngestOptions, embedder: Embedder, reserve: int) -> Splitter:
    """Make the splitter of a collection's options.

    Raises SettingsError for a class that is not there, or cuts no text.
    """
    name = options.splitter.partition(":")[2]
    return LangChain(name, embedder.token_spans, sizes_of(options, embedder, reserve))


def _make_splitter(name: str, token_spans: Tokenise, sizes: Sizes) -> Any:
    """Make the splitter with as much of the sizes as its class takes."""
    kind = _load_class(name)
    arguments: dict[str, Any] = {
        "chunk_size": sizes.tokens,
        "chunk_overlap": sizes.overlap,
        "length_function": lru_cache(_LENGTHS)(lambda text: len(token_spans(text))),
        "headers_to_split_on": _HEADERS,
        "strip_headers": False,
    }
    parameters = dict(inspect.signature(kind).parameters)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        parameters |= inspect.signature(_base_class()).parameters
    try:
        return kind(**{key: value for key, value in arguments.items() if key in parameters})
    except (ImportError, OSError, TypeError, ValueError) as error:
        first = (str(error) or type(error).__name__).splitlines()[0]
        raise SettingsError(f"langchain:{name} cannot be made: {first}") from error


def _base_class() -> type:
    from langchain_text_splitters import TextSplitter

    return TextSplitter


def _load_class(name: str) -> Any:
    import langchain_text_splitters as package

    if name in _REFUSED:
        raise SettingsError(f"langchain:{name} is no splitter of texts here: {_REFUSED[name]}.")
    names = [
        exported
        for exported in package.__all__
        if exported not in _REFUSED and hasattr(getattr(package, exported), "split_text")
    ]
    if name not in names:
        near = get_close_matches(name, names, n=3, cutoff=0.4)
        if near:
            remedy = f"did you mean {' or '.join(f'langchain:{close}' for close in near)}?"
        else:
            remedy = f"there are {', '.join(names)}"
        raise SettingsError(f"langchain_text_splitters has no text splitter {name!r}: {remedy}")
    return getattr(package, name)


def _excerpt(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 40 else f"{flat[:40]}...")
