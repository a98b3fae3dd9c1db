"""A client of `ragkit serve`: what its HTTP API does, as typed Python calls."""

from ragkit.client.client import Client
from ragkit.served import (
    Job,
    KeptConversation,
    KeptTurn,
    Ranked,
    Rated,
    ServedAnswer,
    ServedCollection,
    ServedVersion,
)

__all__ = [
    "Client",
    "Job",
    "KeptConversation",
    "KeptTurn",
    "Ranked",
    "Rated",
    "ServedAnswer",
    "ServedCollection",
    "ServedVersion",
]
