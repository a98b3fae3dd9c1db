"""Names by their spelling, and whether a source has them."""

import pytest

from ragkit.answer.check.names import NameSet, find_names


def found(text: str) -> list[str]:
    return [text[span.start : span.end] for span in find_names(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was built by John Smith in Leeds.", ["John", "Smith", "Leeds"]),
        ("Billy Flynn plays him.", ["Billy", "Flynn"]),
        ("Staff get a day. Managers too.", []),
        ("- Staff get a day\n- Managers too", []),
        ("**Staff** get: Managers too", []),
        ('He said "Never again" and left', []),
        ("In March, Dr. Wu's report came.", ["March", "Wu"]),
        ("We use PostgreSQL, iPhones and the RL-400.", ["PostgreSQL", "iPhones", "RL-400"]),
        ("NASA was first.", ["NASA"]),
        ("AT&T and O'Neil.", ["AT&T", "O'Neil"]),
        ("I think The answer Is No", []),
        ("系统使用Docker部署在node上，共3台。", ["Docker", "node"]),
        ("T恤和A型", []),
        ("年假有25天。", []),
        ("", []),
    ],
)
def test_names_are_told_by_their_spelling(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("name", "source", "has"),
    [
        ("Canada", "The Canadian border.", True),
        ("Canadian", "It lies in Canada.", True),
        ("Martin", "Martha was there.", False),
        ("Smith", "JOHN SMITH", True),
        ("Smith", "Smith's bridge", True),
        ("RL-400", "The RL-400 gauge", True),
        ("RL-400", "The RL-500 gauge", False),
        ("RL-400", "RL 400", True),
        ("Docker", "用docker部署", True),
        ("ＮＡＳＡ", "NASA", True),
        ("Paris", "London", False),
        ("Paris", "", False),
    ],
)
def test_a_source_has_a_name_inflected_or_in_parts(name: str, source: str, has: bool) -> None:
    assert (name in NameSet.of([source])) is has
