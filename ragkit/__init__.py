"""Answers with checkable citations from private documents, in English and Chinese.

Importing this loads no third-party package: each name is fetched from its module on first use.
"""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ragkit.client import Client as Client
    from ragkit.conversation import Conversation as Conversation
    from ragkit.errors import AccessError as AccessError
    from ragkit.errors import BusyError as BusyError
    from ragkit.errors import DatabaseError as DatabaseError
    from ragkit.errors import IncompleteAnswerError as IncompleteAnswerError
    from ragkit.errors import IngestError as IngestError
    from ragkit.errors import MigrationError as MigrationError
    from ragkit.errors import ModelError as ModelError
    from ragkit.errors import ModelServerError as ModelServerError
    from ragkit.errors import NotFoundError as NotFoundError
    from ragkit.errors import OverloadedError as OverloadedError
    from ragkit.errors import QueryError as QueryError
    from ragkit.errors import RagkitError as RagkitError
    from ragkit.errors import ServerError as ServerError
    from ragkit.errors import SettingsError as SettingsError
    from ragkit.errors import UsageError as UsageError
    from ragkit.knowledge import KnowledgeBase as KnowledgeBase
    from ragkit.settings import Settings as Settings
    from ragkit.settings import load_settings as load_settings
    from ragkit.types import Answer as Answer
    from ragkit.types import Block as Block
    from ragkit.types import Chunk as Chunk
    from ragkit.types import Citation as Citation
    from ragkit.types import Claim as Claim
    from ragkit.types import Collection as Collection
    from ragkit.types import Decoding as Decoding
    from ragkit.types import Document as Document
    from ragkit.types import Draft as Draft
    from ragkit.types import EmbeddingSpace as EmbeddingSpace
    from ragkit.types import Finish as Finish
    from ragkit.types import Found as Found
    from ragkit.types import Hit as Hit
    from ragkit.types import Message as Message
    from ragkit.types import NewDocument as NewDocument
    from ragkit.types import Page as Page
    from ragkit.types import ParsedText as ParsedText
    from ragkit.types import Query as Query
    from ragkit.types import Reasoning as Reasoning
    from ragkit.types import Span as Span
    from ragkit.types import Stage as Stage
    from ragkit.types import Turn as Turn
    from ragkit.types import Usage as Usage
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit.client": "Client",
            "ragkit.conversation": "Conversation",
            "ragkit.errors": "AccessError BusyError DatabaseError IncompleteAnswerError IngestError"
            " MigrationError ModelError ModelServerError NotFoundError OverloadedError QueryError"
            " RagkitError ServerError SettingsError UsageError",
            "ragkit.knowledge": "KnowledgeBase",
            "ragkit.settings": "Settings load_settings",
            "ragkit.types": "Answer Block Chunk Citation Claim Collection Decoding Document Draft"
            " EmbeddingSpace Finish Found Hit Message NewDocument Page ParsedText Query Reasoning"
            " Span Stage Turn Usage",
        },
    )
