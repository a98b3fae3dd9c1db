"""One suite of tests per contract; see each class's docstring for the fixture that it needs."""

import pytest

# Before the modules are imported, or a failing assertion would not show its values.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{name}"
        for name in (
            *("embedder", "generator", "reranker", "retriever", "store_collections"),
            *("store_consistency", "store_documents", "store_reader"),
        )
    )
)
