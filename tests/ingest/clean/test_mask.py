"""Masking against a table of private data and look-alikes; what is kept, counted and told."""

from collections import Counter

import pytest

from ragkit.settings.ingest_options import IngestOptions
from ragkit.settings.mask_kinds import PLACEHOLDERS, mask_kinds
from ragkit.types import Block, Page, ParsedText
from ragkit_ingest.clean.description import (
    Description,
    mask_description,
    masked_reason,
    masked_sources,
)
from ragkit_ingest.clean.kinds.plain_text import plain
from ragkit_ingest.clean.mask import find_private, masked, masked_metadata
from ragkit_ingest.parse import ParseOptions, parse_bytes
from ragkit_ingest.sources import SourceOptions
from ragkit_ingest.sources.item import Value
from tests.growth import grows_linearly
from tests.ingest.clean.mask_cases import MARK, NEGATIVES, PEM, POSITIVES

ALL = mask_kinds("all")


def expected(case: str) -> tuple[str, list[tuple[str, str]]]:
    """Read a case: the text as a file has it, and what is to be found in it."""
    return MARK.sub(r"\2", case), MARK.findall(case)


def private_values(text: str) -> list[tuple[str, str]]:
    return [(kind, text[span.start : span.end]) for span, kind in find_private(text, ALL)]


@pytest.mark.parametrize("case", POSITIVES)
def test_private_data_is_found_exactly(case: str) -> None:
    text, spans = expected(case)
    assert spans
    assert private_values(text) == spans


@pytest.mark.parametrize("text", NEGATIVES)
def test_look_alikes_are_left_alone(text: str) -> None:
    assert private_values(text) == []


def test_precision_and_recall_of_each_kind_on_the_table() -> None:
    right, wrong, missed = Counter[str](), Counter[str](), Counter[str]()
    for text, spans in [*map(expected, POSITIVES), *((text, []) for text in NEGATIVES)]:
        was, due = Counter(private_values(text)), Counter(spans)
        right.update(kind for kind, _ in (was & due).elements())
        wrong.update(kind for kind, _ in (was - due).elements())
        missed.update(kind for kind, _ in (due - was).elements())
    assert len(POSITIVES) >= 60
    assert len(NEGATIVES) >= 100
    assert len(set(POSITIVES)) + len(set(NEGATIVES)) == len(POSITIVES) + len(NEGATIVES)
    for kind in PLACEHOLDERS:
        reported, relevant = right[kind] + wrong[kind], right[kind] + missed[kind]
        precision, recall = right[kind] / reported, right[kind] / relevant
        print(f"{kind}: precision {precision:.3f}, recall {recall:.3f} of {relevant}")
        assert relevant >= 9
        assert precision >= 0.98
        assert recall >= 0.98


def test_every_place_of_a_document_is_masked_and_counted_by_kind() -> None:
    parsed = ParsedText(
        "# Ann\n\nann@example.com, 13812345678\n",
        (Block(0, 5, "heading", 1), Block(7, 35, "paragraph")),
        (Page(0, 1, "of ann@example.com"),),
        title="Mail of ann@example.com",
        metadata={"from": "Ann <ann@example.com>", "id": "11010519491231002X"},
        notes={"hidden text": 2},
    )
    result = masked(parsed, ALL)
    assert result.text == "# Ann\n\n[EMAIL], [PHONE]\n"
    assert result.blocks == (Block(0, 5, "heading", 1), Block(7, 23, "paragraph"))
    assert result.pages == (Page(0, 1, "of [EMAIL]"),)
    assert result.title == "Mail of [EMAIL]"
    assert result.metadata == {"from": "Ann <[EMAIL]>", "id": "[ID]"}
    assert result.notes == {
        "hidden text": 2,
        "masked email": 4,
        "masked phone": 1,
        "masked cn_id": 1,
    }


def test_metadata_is_read_with_its_key_and_keeps_the_types_of_what_is_not_private() -> None:
    metadata: dict[str, Value] = {
        "phone": 5550123,
        "count": 5550123,
        "mobile": 13812345678.0,
        "card": 4111111111111111,
        "api_key": "f3b1c0ffee1234567890abcd",
        "of ann@example.com": True,
        "year": 2020,
        "share": 0.5,
    }
    result, counts = masked_metadata(metadata, ALL)
    assert result == {
        "phone": "[PHONE]",
        "count": 5550123,
        "mobile": "[PHONE]",
        "card": "[CARD]",
        "api_key": "[KEY]",
        "of [EMAIL]": True,
        "year": 2020,
        "share": 0.5,
    }
    assert counts == {"masked email": 1, "masked phone": 2, "masked card": 1, "masked api_key": 1}
    assert masked_metadata(metadata, frozenset()) == (metadata, {})


def test_what_a_user_says_is_masked_as_the_options_say_and_an_address_is_counted() -> None:
    notes = {"hidden text": 1, "masked email": 2}
    statement = Description("To a\u200bnn@example.com", {"n": 1}, notes)
    uri = "/in/bob@example.com.txt"
    assert mask_description(statement, uri, IngestOptions()) is statement
    assert mask_description(statement, uri, IngestOptions(mask="all")) == Description(
        "To [EMAIL]",
        {"n": 1},
        {"hidden text": 1, "masked email": 3, "private data in the address": 1},
    )
    options = SourceOptions(title="Of ann@example.com", metadata={"phone": 5550123}, hidden=True)
    expected = SourceOptions(title="Of [EMAIL]", metadata={"phone": "[PHONE]"}, hidden=True)
    assert masked_sources(options, IngestOptions(mask="all")) == expected
    assert masked_sources(options, IngestOptions()) == options
    assert masked_reason("no ann@example.com", IngestOptions(mask="email")) == "no [EMAIL]"
    assert masked_reason("no ann@example.com", ParseOptions()) == "no ann@example.com"


def test_only_the_kinds_asked_for_are_masked() -> None:
    parsed = ParsedText("ann@example.com 13812345678")
    assert masked(parsed, mask_kinds("phone")).text == "ann@example.com [PHONE]"
    assert masked(parsed, frozenset()) == parsed
    assert masked(ParsedText("nothing here"), ALL) == ParsedText("nothing here")


def test_a_private_key_over_several_blocks_leaves_one_placeholder() -> None:
    header, _, body = PEM.partition("\n")
    text = f"Key:\n\n{header}\n\n{body}\n\nEnd."
    start = text.index(header)
    middle = text.index(body)
    parsed = ParsedText(
        text,
        (
            Block(0, 4, "paragraph"),
            Block(start, start + len(header), "paragraph"),
            Block(middle, middle + len(body), "code"),
            Block(len(text) - 4, len(text), "paragraph"),
        ),
    )
    result = masked(parsed, ALL)
    assert result.text == "Key:\n\n[PRIVATE KEY]\n\nEnd."
    assert [result.text[b.start : b.end] for b in result.blocks] == [
        "Key:",
        "[PRIVATE KEY]",
        "End.",
    ]


def test_where_two_kinds_overlap_one_wins() -> None:
    assert private_values("https://app:s3cr3t@example.com/") == [("api_key", "s3cr3t")]
    assert private_values("postgres://app:hunter22@example.com") == [("api_key", "hunter22")]
    assert [kind for kind, _ in private_values("6200000000000005 13800138000")] == ["card", "phone"]


def test_masking_happens_when_a_file_is_parsed_and_after_invisible_characters_went() -> None:
    data = "电话138\u200b1234\u200b5678\n".encode()
    result = parse_bytes(data, ".txt", ParseOptions(mask="phone"))
    assert (result.text, result.notes) == (
        "电话[PHONE]\n",
        {"invisible characters": 2, "masked phone": 1},
    )
    assert parse_bytes(data, ".txt").text == "电话13812345678\n"


def test_kinds_are_read_from_the_setting() -> None:
    assert mask_kinds(None) == mask_kinds("") == frozenset()
    assert mask_kinds("all") == mask_kinds("email all") == frozenset(PLACEHOLDERS)
    assert mask_kinds(" email  iban ") == {"email", "iban"}
    with pytest.raises(
        ValueError,
        match="no kind 'emial': write all, or any of email phone cn_id card iban api_key"
        " private_key with spaces between them",
    ):
        mask_kinds("phone emial")


def test_what_stands_across_the_slices_of_a_long_text_is_found() -> None:
    for at in (-24, -16, -12, -11, -10, -5, -1, 0, 1):
        text = "x" * ((1 << 20) + at - 1) + " " + "13812345678 and GB29NWBK60161331926819 end"
        assert [kind for kind, _ in private_values(text)] == ["phone", "iban"]
    key = "sk-ant-api03-" + "Zx9Cv8Bn7Mm6" * 60
    text = "y " * ((1 << 19) - 300) + key + " end"
    assert private_values(text) == [("api_key", key)]


HOSTILE = [
    *("a@", "@", "1", "1 ", "1-", "(1", "+1 ", "123-", "4111 ", "GB82", "GB82 ", "eyJaaaaaaaa1."),
    *("://", "://a:", "api_key=1", "key ", "-", "----- BEGIN ", "Tel 1234567 ", "0 ", "sk-1"),
    *("-----BEGIN PRIVATE KEY-----\n", "PuTTY-User-Key-File-2: a\n\n\n", "01 23 45 67 89 "),
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234\n",
]


@pytest.mark.parametrize("seed", HOSTILE)
def test_time_grows_with_the_length_of_a_hostile_text_and_not_faster(seed: str) -> None:
    assert grows_linearly(lambda size: find_private(seed * (size // len(seed)), ALL), 1 << 17)


def test_full_width_forms_are_read_as_plain_ones_character_by_character() -> None:
    assert plain("ＡＺａｚ０９＠＋－．＿／（）") == "AZaz09@+-._/()"
    assert plain("1\u20102\u20113\u20134\u20145\u22126\u00a07\u30008") == "1-2-3-4-5-6 7 8"
    assert plain("中文é👩") == "中文é👩"
    assert private_values("电话：０１０－６２３４５６７８") == [
        ("phone", "０１０－６２３４５６７８")
    ]
    assert private_values("👩電話：０１０–６２３４５６７８") == [
        ("phone", "０１０–６２３４５６７８")
    ]
