"""TensorBoard's event files, written by hand: records of protocol buffer messages.

A record is, in little-endian bytes (https://www.tensorflow.org/tutorials/load_data/tfrecord):

    uint64 length, uint32 masked crc32c of the length, the message, uint32 masked crc32c of it

The messages are `Event`, `Summary`, `SummaryMetadata` and `TensorProto` of TensorFlow's
event.proto, summary.proto and tensor.proto; the numbers of their fields stand in the code.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from typing import Final

_POLYNOMIAL: Final = 0x82F63B78  # Castagnoli's, with its bits reversed (RFC 3720, appendix B.4)
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5  # wire types of protocol buffers
_STRING: Final = 7  # DT_STRING in types.proto


def first_record(wall_time: float) -> bytes:
    """Return the record that an event file begins with. `wall_time` is in seconds since 1970."""
    return record(_double(1, wall_time) + _text(3, "brain.Event:2"))


def scalars_record(wall_time: float, step: int, values: Mapping[str, float]) -> bytes:
    """Return a record of scalars by their names; they are rounded to 32 bits, and may be nan."""
    summary = b"".join(
        _message(1, _text(1, name) + _float(2, value)) for name, value in values.items()
    )
    return record(_double(1, wall_time) + _number(2, step) + _message(5, summary))


def text_record(wall_time: float, name: str, text: str) -> bytes:
    """Return a record of a Markdown text at step 0, for TensorBoard's tab of texts."""
    tensor = _number(1, _STRING) + _message(2, b"") + _text(8, text)  # an empty shape: one value
    metadata = _message(1, _text(1, "text"))  # the name of the plug-in that shows it
    value = _text(1, name) + _message(8, tensor) + _message(9, metadata)
    return record(_double(1, wall_time) + _message(5, _message(1, value)))


def record(message: bytes) -> bytes:
    """Frame a message with its length and the checksums of both."""
    length = struct.pack("<Q", len(message))
    return length + _checksum(length) + message + _checksum(message)


def crc32c(content: bytes) -> int:
    """Return the cyclic redundancy check of RFC 3720.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    table, crc = _table(), 0xFFFFFFFF
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


@cache
def _table() -> tuple[int, ...]:
    return tuple(map(_shifted, range(256)))


def _shifted(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


def _checksum(content: bytes) -> bytes:
    crc = crc32c(content)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return struct.pack("<I", masked)


def _varint(value: int) -> bytes:
    """Encode a number that is not negative, seven bits a byte, the lowest first."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*written, value))


def _key(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _number(field: int, value: int) -> bytes:
    return _key(field, _VARINT) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _key(field, _DOUBLE) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    try:
        packed = struct.pack("<f", value)
    except OverflowError:  # beyond 32 bits
        packed = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    return _key(field, _FLOAT) + packed


def _message(field: int, content: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(content)) + content


def _text(field: int, content: str) -> bytes:
    return _message(field, content.encode("utf-8", "replace"))
