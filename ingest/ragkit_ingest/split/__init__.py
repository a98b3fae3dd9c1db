"""Splitters by name: they cut a parsed text into the chunks that are embedded and searched.

A splitter is a module with `make(options, embedder, reserve)`, imported when an option names it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from ragkit.settings.ingest_options import check_splitter

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragkit.contracts import Embedder
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit_ingest.split.contract import Splitter

# By the names in ragkit.settings.ingest_options; of `langchain:CLASS` the part before the colon.
TABLE: Final = {
    "structural": "ragkit_ingest.split.structural:make",
    "fixed": "ragkit_ingest.split.fixed:make",
    "sentences": "ragkit_ingest.split.sentences:make",
    "parent-child": "ragkit_ingest.split.parents:make",
    "code": "ragkit_ingest.split.code:make",
    "langchain": "ragkit_ingest.split.langchain:make",
}


def splitter(options: IngestOptions, embedder: Embedder, *, reserve: int = 0) -> Splitter:
    """Make the splitter that a collection's options name, and load the embedder.

    A chunk leaves `reserve` tokens of the model's limit free, for a header over it. Raises
    SettingsError for an unknown name, and for sizes that contradict each other or the limit.
    """
    check_splitter(options.splitter)
    module, _, attribute = TABLE[options.splitter.partition(":")[0]].partition(":")
    make = cast(
        "Callable[[IngestOptions, Embedder, int], Splitter]",
        getattr(import_module(module), attribute),
    )
    embedder.load()
    return make(options, embedder, reserve)
