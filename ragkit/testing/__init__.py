"""In-memory fakes and conformance suites for the contracts of `ragkit.contracts`.

Each contract but Refinement has both; the suite of Store tests its Reader too. A suite is a class:
inherit from it in a test module, name yours Test..., and give the one fixture that its docstring
names. Only the suites need pytest.
"""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit.testing.answering import FakeGenerator as FakeGenerator
    from ragkit.testing.answering import FakeReranker as FakeReranker
    from ragkit.testing.answering import FakeRetriever as FakeRetriever
    from ragkit.testing.conformance.embedder import EmbedderConformance as EmbedderConformance
    from ragkit.testing.conformance.generator import GeneratorConformance as GeneratorConformance
    from ragkit.testing.conformance.language_model import (
        LanguageModelConformance as LanguageModelConformance,
    )
    from ragkit.testing.conformance.reranker import RerankerConformance as RerankerConformance
    from ragkit.testing.conformance.retriever import RetrieverConformance as RetrieverConformance
    from ragkit.testing.conformance.store import StoreConformance as StoreConformance
    from ragkit.testing.corpus import CORPUS as CORPUS
    from ragkit.testing.corpus import fill as fill
    from ragkit.testing.corpus import new_document as new_document
    from ragkit.testing.corpus import passages as passages
    from ragkit.testing.embedder import FakeEmbedder as FakeEmbedder
    from ragkit.testing.language_model import FakeLanguageModel as FakeLanguageModel
    from ragkit.testing.store import FakeReader as FakeReader
    from ragkit.testing.store import FakeStore as FakeStore
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit.testing.answering": "FakeGenerator FakeReranker FakeRetriever",
            "ragkit.testing.conformance.embedder": "EmbedderConformance",
            "ragkit.testing.conformance.generator": "GeneratorConformance",
            "ragkit.testing.conformance.language_model": "LanguageModelConformance",
            "ragkit.testing.conformance.reranker": "RerankerConformance",
            "ragkit.testing.conformance.retriever": "RetrieverConformance",
            "ragkit.testing.conformance.store": "StoreConformance",
            "ragkit.testing.corpus": "CORPUS fill new_document passages",
            "ragkit.testing.embedder": "FakeEmbedder",
            "ragkit.testing.language_model": "FakeLanguageModel",
            "ragkit.testing.store": "FakeReader FakeStore",
        },
    )
