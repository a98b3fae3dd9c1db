"""Read records from a Parquet file, a small batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from ragkit.errors import IngestError
from ragkit_ingest.sources.record_files import MAX_RECORD_CHARS, Record, check_columns

if TYPE_CHECKING:
    from ragkit_ingest.sources.options import RecordFields

_BATCH_ROWS: Final = 64  # arbitrary: few enough that long texts do not add up
_MAX_BATCH_BYTES: Final = 16 * MAX_RECORD_CHARS  # a short text repeated a million times unpacks


def parquet_records(stream: BinaryIO, fields: RecordFields) -> Iterator[Record]:
    """Yield a file's rows, with the columns that are asked for, numbered from 1.

    Raises IngestError for what is no such file, and where pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise IngestError("read", "Parquet needs pyarrow: pip install 'ragkit[parquet]'") from error
    try:
        file = parquet.ParquetFile(stream, pre_buffer=False)
        names = list(file.schema_arrow.names)
        check_columns(names, fields)
        requested = {*fields.text, fields.title, fields.id, *fields.metadata}
        columns = [
            name
            for name in names
            if name in requested or name in {_head(field) for field in requested}
        ]
        row = 0
        for batch in file.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False):
            if batch.nbytes > _MAX_BATCH_BYTES:
                reason = f"{_BATCH_ROWS} rows of it hold more than {_MAX_BATCH_BYTES >> 20} MB"
                raise IngestError("read", reason)
            for values in batch.to_pylist():
                row += 1
                yield Record(row, values)
    except pa.ArrowException as error:
        reason = " ".join(str(error).split())[:200]
        raise IngestError("read", f"not a Parquet file that can be read: {reason}") from error


def _head(field: str) -> str:
    return field.partition(".")[0]
