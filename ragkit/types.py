"""The frozen values that travel between ragkit's parts. All offsets are character
(code point) offsets, end exclusive, into a document's canonical stored text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ragkit.filters.tree import Filter

Mode = Literal["hybrid", "dense", "lexical"]
Verdict = Literal["verified", "unverified"]
Support = Literal["quoted", "supported", "partly", "not found"]
BlockKind = Literal["heading", "paragraph", "list", "table", "code"]


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters, `text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of structure in a parsed text; a heading has a level, 1 to 6."""

    start: int
    end: int
    kind: BlockKind
    level: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """A page, slide or sheet and the offset at which it begins; numbers count from 1.

    `label` is what is printed on it where that is another thing ("iv"), or a sheet's name.
    """

    start: int
    number: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class ParsedText:
    """What a parser makes of a file: canonical text, and the structure that lies over it.

    Blocks and pages are in order of their start and lie within the text; blocks do not overlap.
    `notes` count what the text lacks or has in another form than the file, by kind: "hidden text",
    "pages without text", "masked email".
    """

    text: str
    blocks: tuple[Block, ...] = ()
    pages: tuple[Page, ...] = ()
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A searchable piece of a document; `tokens` counts the embedder's own tokens.

    `lead` is what stands over a piece of a larger table or code block, such as the table's header
    row: it is embedded, searched and shown before the piece, and is no part of it. `parent` is the
    stretch that is shown in the chunk's place when it is found.
    """

    ordinal: int
    start: int
    end: int
    tokens: int
    page: int | None = None
    headings: tuple[str, ...] = ()
    lead: Span | None = None
    parent: Span | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """What makes two vectors comparable: model, revision, dimension and the prefixes used."""

    model: str
    revision: str
    dimension: int
    query_prefix: str = ""
    passage_prefix: str = ""


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A parsed and chunked document on its way into the store.

    Nearly equal texts are found by `bands`, 64-bit numbers with sign, of which they have one or
    more in common, and compared by `signature`; both are empty where they are not looked for.
    `size_bytes` is the size of the file that the text was read from, None where there is no file.
    """

    uri: str
    content_hash: str
    fingerprint: str
    text: str
    chunks: tuple[Chunk, ...]
    title: str = ""
    language: str = ""
    media_type: str = ""
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    pages: tuple[Page, ...] = ()
    signature: bytes = b""
    bands: tuple[int, ...] = ()
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document, without its text."""

    id: int
    uri: str
    title: str
    collection: str
    language: str
    version: int
    chunks: int
    chars: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a file stands on its way in: queued, running, done, cancelled, or failed at a stage."""

    uri: str
    state: str
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents; `chunks` and `documents` count what is in it."""

    id: int
    name: str
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Copy:
    """Where else a passage's text stands, word for word."""

    document: int
    chunk: int
    uri: str
    title: str
    page: int | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk found for a query: where it is, what it says, and each leg's own score."""

    document: int
    chunk: int
    uri: str
    title: str
    page: int | None
    start: int
    end: int
    text: str
    score: float
    scores: Mapping[str, float] = field(default_factory=dict)
    headings: tuple[str, ...] = ()
    version: int = 1
    metadata: Mapping[str, Any] = field(default_factory=dict)  # the document's
    duplicates: tuple[Copy, ...] = ()  # left out for this one: they say the same, best first
    lead: str = ""  # what stands over it in the document, such as its table's header row
    parent: Span | None = None  # what is to be shown in its place


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for: the words as asked, and what a language model may add to them.

    `variants` are other wordings, searched besides and fused; `passage` is a hypothetical answer
    that is embedded in the question's place. Both are empty without a language model. `where` is
    what the question itself says of the documents it means, and is heard as long as there are any.
    `notes` say what was made of the question, for the trace.
    """

    text: str
    variants: tuple[str, ...] = ()
    passage: str = ""
    where: "Filter | None" = None
    notes: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fields:
    """What a collection's documents have that a filter may compare, commonest values first.

    `keys` maps each metadata key to the type that is declared for it, None where none is; `values`
    to values that documents have of it.
    """

    languages: tuple[str, ...]
    media_types: tuple[str, ...]
    keys: Mapping[str, str | None]
    values: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a search: seconds, the chunks that it left, best first with their scores, and
    what else it says of itself."""

    name: str
    seconds: float
    ranked: tuple[tuple[int, float], ...] = ()
    notes: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A search's hits, best first, and the steps that led to them."""

    hits: tuple[Hit, ...]
    stages: tuple[Stage, ...] = ()

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by the name of the stage."""
        return {stage.name: stage.seconds for stage in self.stages}

    @property
    def planned(self) -> dict[str, float | str]:
        """What was made of the question before it was searched for, and what was given up again."""
        names = {"plan", "filter dropped", "phrases first"}
        plans = (stage.notes for stage in self.stages if stage.name in names)
        return {name: note for notes in plans for name, note in notes.items()}


@dataclass(frozen=True, slots=True)
class Citation:
    """A numbered pointer from an answer to `start:end` of a document's stored text.

    `headings` are those that the place stands under, outermost first.
    """

    n: int
    document: int
    uri: str
    title: str
    page: int | None
    start: int
    end: int
    quote: str
    verdict: Verdict = "unverified"
    version: int = 1
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence `start:end` of an answer's text, the source numbers it cites, and their support.

    "quoted": it is a source's own words, and says no more than that these stand there;
    "supported": what can be checked of it stands in the cited sources; "partly": some of it does
    not; "not found": nothing of it does, or it cites nothing. `reason` says in plain words what
    speaks against the last two, as far as that is known.
    """

    start: int
    end: int
    cites: tuple[int, ...]
    support: Support
    reason: str = ""

    @property
    def is_supported(self) -> bool:
        """Whether the cited sources hold the whole sentence: it is quoted, or supported."""
        return self.support in {"quoted", "supported"}


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of a conversation, the answer it was given, and the passages shown for it."""

    question: str
    answer: str
    used: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One message to a language model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A piece of what a thinking model says to itself; no part of its answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a language model counted for one answer."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int | None = None  # of the prompt, read from the prefix cache; None: not told


@dataclass(frozen=True, slots=True)
class Finish:
    """How a language model's text ended: "stop", or "length" when it was cut at max_tokens."""

    reason: str
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a language model chooses its tokens, in the names that vLLM and the field use.

    None leaves a choice to the server. At most one of `json_schema` and `regex` binds the output.
    """

    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()
    seed: int | None = None
    json_schema: Mapping[str, Any] | None = None
    regex: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """What a generator finally says, before its citations are verified against the stored text.

    `used` are the passages that it was shown; `prompt` names the template's version, `prompting`
    has the options that a model was asked with, such as examples.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    refused: bool = False
    reason: str = ""
    usage: Usage | None = None
    used: tuple[Hit, ...] = ()
    reasoning: str = ""
    prompt: str = ""
    prompting: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with verified citations, or a refusal with its reason.

    `claims` judges each sentence of the text, and `unverified` lists the quotations, names and
    numbers in it that no cited source contains. `hits` were retrieved, `used` were shown to the
    generator, `citations` are what the answer cites. `timings` holds seconds per stage, `searched`
    what was made of the question for the search, such as a filter that it implies, `prompting` the
    options that a model was asked with, such as examples.
    """

    text: str
    refused: bool
    reason: str
    citations: tuple[Citation, ...] = ()
    unverified: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    usage: Usage | None = None
    claims: tuple[Claim, ...] = ()
    used: tuple[Hit, ...] = ()
    reasoning: str = ""
    prompt: str = ""
    searched: Mapping[str, float | str] = field(default_factory=dict)
    prompting: Mapping[str, Any] = field(default_factory=dict)
