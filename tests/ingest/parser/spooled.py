"""Members of a container as a parser process hands them over, without one."""

import io
from collections.abc import Iterable

from ragkit_ingest.parser.spool import Part, Spool


def spooled(members: Iterable[tuple[str, bytes]]) -> list[tuple[str, Part]]:
    spool = Spool()
    return [(name, spool.take(io.BytesIO(data), len(data))) for name, data in members]
