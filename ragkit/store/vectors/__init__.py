"""Embedding spaces and their vectors: stored, indexed, and searched, a table for each space.

Writes go to the table at once and to its index later, so both are always searched.
"""

from ragkit.store.vectors.build import Outcome, build_index, merge, tidy
from ragkit.store.vectors.layout import Layout, Table, table_name
from ragkit.store.vectors.progress import BuildProgress
from ragkit.store.vectors.rows import copy_vectors, vectors
from ragkit.store.vectors.search import nearest, nearest_in
from ragkit.store.vectors.spaces import (
    Place,
    SearchedCollection,
    ensure_space,
    find_space,
    find_table,
    locate,
    look_up,
    set_effort,
)
from ragkit.store.vectors.state import State, relaid, state

__all__ = [
    "BuildProgress",
    "Layout",
    "Outcome",
    "Place",
    "SearchedCollection",
    "State",
    "Table",
    "build_index",
    "copy_vectors",
    "ensure_space",
    "find_space",
    "find_table",
    "locate",
    "look_up",
    "merge",
    "nearest",
    "nearest_in",
    "relaid",
    "set_effort",
    "state",
    "table_name",
    "tidy",
    "vectors",
]
