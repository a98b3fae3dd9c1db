"""How a space's vectors are stored, compared and indexed, and the SQL that says so.

Pure: it knows nothing of connections, nor of what the vectors are of.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final, Literal

from psycopg.sql import SQL, Composable, Identifier
from psycopg.sql import Literal as Constant

Type = Literal["halfvec", "vector", "bit"]
Metric = Literal["cosine", "ip", "l2"]
Index = Literal["auto", "none", "hnsw", "ivfflat"]
Kind = Literal["hnsw", "ivfflat"]

# pgvector's limits: https://github.com/pgvector/pgvector (0.8), sections HNSW and IVFFlat.
INDEXED_VECTOR: Final = 2_000
INDEXED_HALFVEC: Final = 4_000
STORED: Final = 16_000

# Unstructured data need 40 for recall@10 of 0.99 at 100k rows; the rest is room for filters.
EF_SEARCH: Final = 100
RERANKED_EF_SEARCH: Final = 400  # of what a coarser index finds; see docs/benchmarks.md
MOST_EF_SEARCH: Final = 1_000  # pgvector's own limit
# Of more rows both are more, as their fourth root: by bits recall at 10 was 0.975 of a million with
# 400, and of ten million 0.91 with 400, 0.95 with 711.
EF_SEARCH_ROWS: Final = 1_000_000

_OPERATORS: Final = {"cosine": SQL("<=>"), "ip": SQL("<#>"), "l2": SQL("<->")}
# A similarity that falls as the distance grows; for unit vectors each is the cosine.
_SIMILARITIES: Final = {
    "cosine": SQL("1 - {}"),
    "ip": SQL("- {}"),
    "l2": SQL("1 - {0} * {0} / 2"),
}


@dataclass(frozen=True, slots=True)
class Layout:
    """How vectors are stored, compared and indexed.

    "bit" stores half precision and indexes one bit of each dimension. "auto" is HNSW above 10,000
    rows. `effort` is hnsw.ef_search or ivfflat.probes; None leaves it to ragkit.
    """

    type: Type = "halfvec"
    metric: Metric = "cosine"
    index: Index = "auto"
    effort: int | None = None

    @property
    def kind(self) -> Kind:
        """Name the index that is built, where one is."""
        return "ivfflat" if self.index == "ivfflat" else "hnsw"


@dataclass(frozen=True, slots=True)
class Table:
    """The vector table of a space: its layout, and the generations that its index holds.

    `indexed` is 0 without an index, which is built for `rows` vectors. New vectors get the
    generation `written`.
    """

    space_id: int
    dimension: int
    layout: Layout
    indexed: int = 0
    written: int = 1
    rows: int = 0

    @property
    def name(self) -> str:
        return table_name(self.space_id)

    @property
    def identifier(self) -> Identifier:
        return Identifier(self.name)

    @property
    def stored(self) -> Literal["halfvec", "vector"]:
        """Name the column's type."""
        return "vector" if self.layout.type == "vector" else "halfvec"

    @property
    def form(self) -> Type:
        """Name what the index is over: coarser than what is stored where pgvector needs it so."""
        if self.layout.type == "bit" or self.dimension > INDEXED_HALFVEC:
            return "bit"
        return "halfvec" if self.dimension > INDEXED_VECTOR else self.layout.type

    @property
    def reranks(self) -> bool:
        """Tell whether what the index finds is compared again by what is stored."""
        return self.form != self.stored

    @property
    def column(self) -> Composable:
        """The type of the column `embedding`."""
        return SQL("{}({})").format(SQL(self.stored), Constant(self.dimension))

    @property
    def effort(self) -> int:
        """How hard the index is searched: hnsw.ef_search or ivfflat.probes."""
        if self.layout.effort is not None:
            return self.layout.effort
        if self.layout.kind == "ivfflat":
            # A quarter of the lists up to 64: arbitrary; `ragkit index recall` measures it.
            return max(1, min(64, lists(self.rows) // 4))
        usual = RERANKED_EF_SEARCH if self.reranks else EF_SEARCH
        more = sqrt(sqrt(max(1.0, self.rows / EF_SEARCH_ROWS)))
        return min(MOST_EF_SEARCH, round(usual * more))

    def distance(self, vector: Composable) -> Composable:
        """The exact distance of a row to a query vector."""
        return SQL("embedding {} {}::{}").format(
            _OPERATORS[self.layout.metric], vector, SQL(self.stored)
        )

    def similarity(self, distance: Composable) -> Composable:
        return _SIMILARITIES[self.layout.metric].format(distance)

    def order(self, vector: Composable) -> Composable:
        """The distance that the index sorts by."""
        if not self.reranks:
            return self.distance(vector)
        query = SQL("{}::{}").format(vector, SQL(self.stored))
        if self.form == "halfvec":
            sign = _OPERATORS[self.layout.metric]
            return SQL("{} {} {}").format(self._key, sign, self._coarse(query))
        return SQL("{} <~> {}").format(self._key, self._coarse(query))

    @property
    def index_key(self) -> Composable:
        """What an index is made of: an expression and its operator class."""
        key = SQL("({})").format(self._key) if self.reranks else self._key
        ops = "hamming" if self.form == "bit" else self.layout.metric
        return SQL("{} {}").format(key, Identifier(f"{self.form}_{ops}_ops"))

    @property
    def _key(self) -> Composable:
        column = SQL("embedding")
        return self._coarse(column) if self.reranks else column

    def _coarse(self, value: Composable) -> Composable:
        n = Constant(self.dimension)
        if self.form == "bit":
            return SQL("binary_quantize({})::bit({})").format(value, n)
        return SQL("{}::halfvec({})").format(value, n)


def table_name(space_id: int) -> str:
    return f"vectors_{space_id}"


def index_name(space_id: int, generation: int) -> str:
    return f"vectors_{space_id}_nearest_{generation}"


def lists(rows: int) -> int:
    """Choose ivfflat.lists as pgvector's own documentation advises."""
    return max(1, rows // 1000 if rows <= 1_000_000 else int(rows**0.5))
