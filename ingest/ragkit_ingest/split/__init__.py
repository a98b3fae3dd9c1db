"""Splitters by name: how a parsed text is cut into the chunks that are embedded and found.

Each is a module with `make(options, embedder, reserve)`; nothing is imported until it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from ragkit.ingest_options import check_splitter

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragkit.contracts import Embedder
    from ragkit.ingest_options import IngestOptions
    from ragkit_ingest.split.contract import Splitter

# The names are ragkit.ingest_options.SPLITTERS; `langchain:NAME` is looked up before the colon.
TABLE: Final = {
    "structural": "ragkit_ingest.split.structural:make",
    "fixed": "ragkit_ingest.split.fixed:make",
    "sentences": "ragkit_ingest.split.sentences:make",
    "parent-child": "ragkit_ingest.split.parents:make",
    "semantic": "ragkit_ingest.split.semantic:make",
    "code": "ragkit_ingest.split.code:make",
    "langchain": "ragkit_ingest.split.langchain:make",
}


def splitter(options: IngestOptions, embedder: Embedder, *, reserve: int = 0) -> Splitter:
    """Make the splitter that a collection's options name; it loads the embedder.

    `reserve` tokens of what the model reads are kept free, for a header over each chunk. Raises
    SettingsError for an unknown name, for sizes that make no sense, and for more than it reads.
    """
    check_splitter(options.splitter)
    module, _, attribute = TABLE[options.splitter.partition(":")[0]].partition(":")
    make = cast(
        "Callable[[IngestOptions, Embedder, int], Splitter]",
        getattr(import_module(module), attribute),
    )
    embedder.load()
    return make(options, embedder, reserve)
