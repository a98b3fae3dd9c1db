"""Turn records into documents: fields become the text, title, id and metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, Final

from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit_ingest.sources.item import Item, Value
from ragkit_ingest.sources.items_of_file import broken
from ragkit_ingest.sources.options import RecordFields
from ragkit_ingest.sources.record_files import Record, read_records
from ragkit_ingest.sources.sizes import in_hand
from ragkit_ingest.sources.values import metadata_of

_MAX_ID_CHARS: Final = 500  # arbitrary, as the next
_MAX_TITLE_CHARS: Final = 1000


def record_items(
    uri: str,
    opened: Callable[[], BinaryIO],
    suffix: str,
    fields: RecordFields,
    metadata: Mapping[str, Value],
) -> Iterator[Item]:
    """Yield a thing for each record of a file, which is read as they are asked for.

    A record is named uri#ID, or uri#LINE where no field is the id. One that cannot be used fails
    by itself, as "uri#line LINE" where its id is not known; a file that cannot be read on fails as
    the file.
    """
    ids: set[int] = set()  # hashes: texts would take more
    try:
        with opened() as stream:
            for record in read_records(stream, suffix, fields):
                yield _item(uri, record, fields, metadata, ids)
    except IngestError as error:
        yield broken(uri, error.reason, suffix)
    except OSError as error:
        yield broken(uri, error.strerror or str(error), suffix)


def _item(
    uri: str,
    record: Record,
    fields: RecordFields,
    metadata: Mapping[str, Value],
    ids: set[int],
) -> Item:
    name = f"{uri}#line {record.line}"
    try:
        if isinstance(record.values, IngestError):
            raise ValueError(record.values.reason)
        record_uri = f"{uri}#{_id(record, fields.id, ids)}"
        name = record_uri
        text = "\n\n".join(filter(None, (_text(record.values, field) for field in fields.text)))
        if not text.strip():
            expected = " or ".join(map(repr, fields.text))
            raise ValueError(f"it has no text in {expected}: see --text")
        fields_metadata = {key: value(record.values, key) for key in fields.metadata}
        title = value(record.values, fields.title) if fields.title else ""
        title = clean(str("" if title is None else title)).strip()[:_MAX_TITLE_CHARS]
        return Item(
            name,
            fields.suffix,
            in_hand(text.encode("utf-8", "replace")),
            name=name[uri.rfind("/") + 1 :],
            title=title,
            metadata=dict(metadata) | metadata_of(fields_metadata),
        )
    except ValueError as error:
        return broken(name, f"line {record.line}: {error}", fields.suffix)


def value(record: Mapping[str, Any], field: str) -> Any:
    """Look a field up by its name, or as a field of a field; None where there is none.

    >>> value({"author": {"name": "Ann"}}, "author.name")
    'Ann'
    """
    if field in record:
        return record[field]
    result: Any = record
    for part in field.split("."):
        if not isinstance(result, Mapping) or part not in result:
            return None
        result = result[part]
    return result


def _id(record: Record, field: str, ids: set[int]) -> str:
    assert not isinstance(record.values, IngestError)
    if not field:
        return str(record.line)
    identifier = value(record.values, field)
    if (
        identifier is None
        or isinstance(identifier, bool | list | Mapping)
        or not str(identifier).strip()
    ):
        raise ValueError(f"it has no id in {field!r}: see --id-field")
    name = clean(str(identifier)).strip()
    if len(name) > _MAX_ID_CHARS or "\n" in name:
        raise ValueError(f"its id is no line of at most {_MAX_ID_CHARS} characters")
    if hash(name) in ids:
        raise ValueError(f"the id {name!r} was there before: ids have to differ")
    ids.add(hash(name))
    return name


def _text(record: Mapping[str, Any], field: str) -> str:
    content = value(record, field)
    if isinstance(content, list) and all(isinstance(part, str) for part in content):
        return "\n\n".join(content)
    if isinstance(content, Mapping | list | bytes):
        raise ValueError(f"{field!r} is {type(content).__name__}, not a text")
    return "" if content is None else str(content)
