"""Event files byte by byte.

The expected bytes are those of TensorBoard 2.21's own RecordWriter and messages:

    from io import BytesIO
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter
    RecordWriter(file := BytesIO()).write(Event(...).SerializeToString())
    file.getvalue().hex()
"""

from __future__ import annotations

from math import nan

import pytest

from ragkit_tune.watch.event_file import crc32c, first_record, scalars_record, text_record


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (bytes(32), 0x8A9136AA),  # RFC 3720, appendix B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"", 0),
    ],
)
def test_checksums_are_those_of_rfc_3720(content: bytes, expected: int) -> None:
    assert crc32c(content) == expected


def test_the_first_record_names_the_version() -> None:
    # Event(wall_time=1.5, file_version="brain.Event:2")
    assert first_record(1.5).hex() == (
        "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c"
    )


def test_scalars_of_a_step_are_one_record() -> None:
    # Event(wall_time=2.5, step=300, summary=Summary(value=[
    #     Summary.Value(tag="train/loss", simple_value=0.1),
    #     Summary.Value(tag="n", simple_value=nan)]))
    assert scalars_record(2.5, 300, {"train/loss": 0.1, "n": nan}).hex() == (
        "2b00000000000000861bc34b09000000000000044010ac022a1d0a110a0a747261696e2f6c6f737315cdcccc3d"
        "0a080a016e150000c07fe3b432b8"
    )


def test_a_text_is_a_tensor_of_a_string() -> None:
    # Event(wall_time=1.5, summary=Summary(value=[Summary.Value(tag="recipe",
    #     tensor=TensorProto(dtype=7, tensor_shape=TensorShapeProto(), string_val=["é".encode()]),
    #     metadata=SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text")))]))
    assert text_record(1.5, "recipe", "é").hex() == (
        "290000000000000037ff5f0009000000000000f83f2a1e0a1c0a067265636970654208080712004202c3a94a08"
        "0a060a0474657874a4b241d3"
    )


def test_a_value_beyond_32_bits_is_infinite() -> None:
    assert b"\x15\x00\x00\x80\x7f" in scalars_record(0.0, 1, {"a": 1e300})
    assert b"\x15\x00\x00\x80\xff" in scalars_record(0.0, 1, {"a": -1e300})
