"""Answers with checkable citations from private documents, in English and Chinese.

Importing this loads no third-party package: each name is fetched from its module on first use.
Here is what programs use; the other values and errors are in `ragkit.types` and `ragkit.errors`.
"""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ragkit.client import Client as Client
    from ragkit.errors import AccessError as AccessError
    from ragkit.errors import DatabaseError as DatabaseError
    from ragkit.errors import IncompleteAnswerError as IncompleteAnswerError
    from ragkit.errors import IngestError as IngestError
    from ragkit.errors import ModelError as ModelError
    from ragkit.errors import NotFoundError as NotFoundError
    from ragkit.errors import OverloadedError as OverloadedError
    from ragkit.errors import RagkitError as RagkitError
    from ragkit.errors import ServerError as ServerError
    from ragkit.errors import SettingsError as SettingsError
    from ragkit.errors import UsageError as UsageError
    from ragkit.knowledge.base import KnowledgeBase as KnowledgeBase
    from ragkit.settings.settings import Settings as Settings
    from ragkit.settings.settings import load_settings as load_settings
    from ragkit.types import Answer as Answer
    from ragkit.types import Citation as Citation
    from ragkit.types import Decoding as Decoding
    from ragkit.types import Document as Document
    from ragkit.types import Hit as Hit
    from ragkit.types import Reasoning as Reasoning
    from ragkit.types import Turn as Turn
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit.client": "Client",
            "ragkit.errors": "AccessError DatabaseError IncompleteAnswerError IngestError"
            " ModelError NotFoundError OverloadedError RagkitError ServerError SettingsError"
            " UsageError",
            "ragkit.knowledge.base": "KnowledgeBase",
            "ragkit.settings.settings": "Settings load_settings",
            "ragkit.types": "Answer Citation Decoding Document Hit Reasoning Turn",
        },
    )
