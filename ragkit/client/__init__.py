"""A client of `ragkit serve`: what its HTTP API does, as typed Python calls."""

from ragkit.api_values import (
    Job,
    KeptConversation,
    KeptTurn,
    Ranked,
    Rated,
    ServedAnswer,
    ServedCollection,
    ServedVersion,
)
from ragkit.client.client import Client

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
