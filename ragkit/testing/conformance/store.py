"""What every `Store` and its `Reader` must do, put together."""

from ragkit.testing.conformance.store_collections import CollectionRules
from ragkit.testing.conformance.store_consistency import ConsistencyRules
from ragkit.testing.conformance.store_documents import DocumentRules
from ragkit.testing.conformance.store_reader import ReaderRules


class StoreConformance(CollectionRules, DocumentRules, ReaderRules, ConsistencyRules):
    """Needs a fixture `store`: a new empty store for each test, usable from several threads."""
