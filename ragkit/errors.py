"""The one tree of ragkit's errors.

RagkitError
├── UsageError            the caller named something that does not exist or makes no sense
│   ├── SettingsError     a setting is unknown, malformed or contradicts another
│   ├── NotFoundError     a path, collection or document that is not there
│   ├── BusyError         what is asked for is in use at the moment
│   ├── QueryError        a query that cannot be searched with
│   ├── OtherModelError   vectors of one model were to meet those of another
│   └── AccessError       a server of ragkit's lets nobody do this without a key that may
├── DatabaseError         PostgreSQL cannot be reached, or is not fit for use
│   └── MigrationError    the schema could not be brought up to date, or is newer than this program
├── ModelError            an embedding or language model is missing or cannot be used
│   └── ModelServerError  the language-model server cannot be reached, or failed
│       ├── ModelServerBusyError  it takes no more requests now, and may say when to ask again
│       ├── IncompleteAnswerError  it failed in the middle of an answer; holds what had come
│       └── RejectedError  (ragkit_eval) it takes this request from nobody, such as a long prompt
├── ServerGoneError       (ragkit_eval) no question can be answered by the server any more
├── ServerError           a server of ragkit's cannot be reached, or failed
│   └── OverloadedError   it takes no more at the moment, or the key's quota is used up
├── LeaseLostError        a job is no longer whose that works on it: nothing was written
└── IngestError           one file could not be taken in; names the stage at which it failed

Every message is one line: what failed, on which value, and what to do about it.
"""

from typing import Final

NOTHING_INGESTED: Final = "Nothing is ingested yet: ragkit ingest FOLDER"


class RagkitError(Exception):
    """Base of every error that ragkit raises on purpose."""

    exit_code = 1


class UsageError(RagkitError):
    """The caller named something that does not exist or makes no sense."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting is unknown, malformed or contradicts another."""


class NotFoundError(UsageError):
    """A path, collection or document that is not there."""


class BusyError(UsageError):
    """What is asked for is in use at the moment: ask again later."""


class QueryError(UsageError):
    """A query that cannot be searched with."""


class OtherModelError(UsageError):
    """Vectors of one model were to meet those of another, or its model is not the same any more."""


class AccessError(UsageError):
    """A server of ragkit's lets nobody do this without a key that may."""


class DatabaseError(RagkitError):
    """PostgreSQL cannot be reached, or is not fit for use."""


class SnapshotLostError(DatabaseError):
    """What was read from went away meanwhile, and another can be read from in its place."""


class MigrationError(DatabaseError):
    """The schema could not be brought up to date, or is newer than this program."""


class ModelError(RagkitError):
    """An embedding or language model is missing or cannot be used."""


class ModelServerError(ModelError):
    """The language-model server cannot be reached, or failed."""


class ModelServerBusyError(ModelServerError):
    """The language-model server takes no more requests now: 429 or 503.

    `retry_after_s` is when to ask again, 0 where it has not said.
    """

    def __init__(self, message: str, *, status: int, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


class IncompleteAnswerError(ModelServerError):
    """The server failed in the middle of an answer; `received` is the text that had come."""

    def __init__(self, message: str, received: str) -> None:
        super().__init__(message)
        self.received = received


class ServerError(RagkitError):
    """A server of ragkit's cannot be reached, or failed."""


class OverloadedError(ServerError):
    """A server of ragkit's takes no more at the moment: ask again after `retry_after_s`."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class LeaseLostError(RagkitError):
    """A job is no longer whose that works on it: cancelled, renewed, or taken by another."""


class IngestError(RagkitError):
    """One file could not be taken in; `stage` is where: read, parse, chunk, embed or store."""

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = reason
