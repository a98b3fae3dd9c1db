"""The HTTP API, the chat page, and language models on the owner's machines."""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit.testing.stub_server.server import StubServer as StubServer
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__, {"ragkit.testing.stub_server.server": "StubServer"}
    )
