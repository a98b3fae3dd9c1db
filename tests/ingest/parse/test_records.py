"""Separated values and JSON."""

import pytest

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse import ParseOptions, delimited, parse_bytes


def parse(text: str, suffix: str) -> ParsedText:
    return parse_bytes(text.encode(), suffix, ParseOptions(unzipped_bytes=1 << 20))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    lines = [["name", "price"], ["lens, wide", '"5"'], ["型号；甲", "6"]]
    source = "\r\n".join(
        delimiter.join(f'"{c.replace(chr(34), chr(34) * 2)}"' for c in line) for line in lines
    )
    parsed = parse(source, ".csv")
    assert parsed.text == ('| name | price |\n| - | - |\n| lens, wide | "5" |\n| 型号；甲 | 6 |\n')
    assert [(b.kind, b.start, b.end) for b in parsed.blocks] == [("table", 0, len(parsed.text) - 1)]


def test_ragged_rows_newlines_and_pipes_in_cells() -> None:
    assert parse('a,b,c\n1,"x\ny"\n\n2|3,,,4\n', ".csv").text == (
        "| a | b | c |  |\n| - | - | - | - |\n| 1 | x y |  |  |\n| 2\\|3 |  |  | 4 |\n"
    )


def test_excels_own_hint_is_followed() -> None:
    assert parse("sep=;\na;b,c\n", ".csv").text == "| a | b,c |\n| - | - |\n"


def test_tabs() -> None:
    assert parse("a\tb\n1\t2\n", ".tsv").text == "| a | b |\n| - | - |\n| 1 | 2 |\n"


def test_a_quotation_mark_never_closed_swallows_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_MAX_FIELD_CHARS", 1 << 14)
    parsed = parse('a,b\n"' + "x,y\n" * 5_000, ".csv")
    assert parsed.text.count("| x | y |\n") == 4_999
    assert parsed.text.startswith('| a | b |\n| - | - |\n| "x | y |\n| x | y |\n')


def test_json_reads_as_lines() -> None:
    parsed = parse(
        '{"name": "RL-400", "weight": 2.90, "ok": true, "none": null, "tags": ["a", "b"],'
        ' "parts": [{"no": "OL-1", "in": {"x": 1}}, 7], "empty": {}}',
        ".json",
    )
    assert parsed.text == (
        "name: RL-400\nweight: 2.90\nok: true\nnone:\ntags: a, b\nparts:\n  -\n    no: OL-1\n"
        "    in:\n      x: 1\n  - 7\nempty:\n"
    )


def test_each_record_is_a_paragraph() -> None:
    lines = parse('{"q": "甲", "n": 1}\n\n{"q": "b\\nc", "n": 1e400}\n', ".jsonl")
    assert lines.text == "q: 甲\nn: 1\n\nq: b c\nn: 1e400\n"
    assert [lines.text[b.start : b.end] for b in lines.blocks] == [
        "q: 甲\nn: 1",
        "q: b c\nn: 1e400",
    ]
    assert parse('[{"q": "甲"}, {"q": "b"}]', ".json").text == "q: 甲\n\nq: b\n"


@pytest.mark.parametrize(
    ("text", "suffix", "reason"),
    [
        ('{"a": 1', ".json", "not JSON: line 1: Expecting ',' delimiter"),
        ('{\n"a": 1,\n}', ".json", "not JSON: line 3: .*"),
        ('{"a": 1}\n{"a": }\n', ".jsonl", "not JSON: line 2: Expecting value"),
        ("[" * 500 + "]" * 500, ".json", "its JSON is nested deeper than 100 levels"),
        ("[" * 500_000, ".json", "its JSON is nested too deeply"),
    ],
)
def test_what_is_not_json_is_said_with_its_line(text: str, suffix: str, reason: str) -> None:
    with pytest.raises(IngestError, match=f"^parse: {reason}$"):
        parse(text, suffix)
