"""Filters as text: what is read, where it says that it cannot, and that writing is its reverse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.errors import QueryError
from ragkit.filters.text import read, write
from ragkit.filters.tree import Comparison, Every, Filter, Not, Some, matches, parse

HOSTILE = [
    "a'b",
    'a"b',
    "a\\",
    "%s",
    "{0}",
    "'; DROP TABLE document --",
    "and",
    "not",
    "true",
    "in",
]
HOSTILE += ["", " ", "\n", "作者", "ｙear", "\u202e", "__proto__", "x" * 900, "2020-01-01", "-3"]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (
            'language = "en" and year >= 2020 and not (title contains "draft")',
            {
                "and": [
                    {"eq": {"language": "en"}},
                    {"gte": {"year": 2020}},
                    {"not": {"contains": {"title": "draft"}}},
                ]
            },
        ),
        ('tag in ("a", "b")', {"in": {"tag": ["a", "b"]}}),
        ("tag in ()", {"in": {"tag": []}}),
        ("author exists", {"exists": {"author": True}}),
        ("author not exists", {"exists": {"author": False}}),
        ("not author exists", {"not": {"exists": {"author": True}}}),
        ("tag not in ('a')", {"not": {"in": {"tag": ["a"]}}}),
        ("title not contains 'x'", {"not": {"contains": {"title": "x"}}}),
        (
            "a=1 or b=2 and c=3",
            {"or": [{"eq": {"a": 1}}, {"and": [{"eq": {"b": 2}}, {"eq": {"c": 3}}]}]},
        ),
        (
            "(a=1 or b=2) and c=3",
            {"and": [{"or": [{"eq": {"a": 1}}, {"eq": {"b": 2}}]}, {"eq": {"c": 3}}]},
        ),
        (
            "a == 1 AND b <> 2 Or c != 2.5",
            {"or": [{"and": [{"eq": {"a": 1}}, {"ne": {"b": 2}}]}, {"ne": {"c": 2.5}}]},
        ),
        ("a <= -1e3", {"lte": {"a": -1000.0}}),
        ("day >= 2020-01-31", {"gte": {"day": "2020-01-31"}}),
        ("day < 2020-01-31T09:30:00Z", {"lt": {"day": "2020-01-31T09:30:00Z"}}),
        ("draft = true", {"eq": {"draft": "true"}}),
        ("draft != false", {"ne": {"draft": "false"}}),
        ("'odd key' = 'it''s'", {"eq": {"odd key": "it's"}}),
        ('"a\\"b" = "\\u4f5c\\n"', {"eq": {'a"b': "作\n"}}),
        (
            "metadata.uri = 'x' and file-name < 3",
            {"and": [{"eq": {"metadata.uri": "x"}}, {"lt": {"file-name": 3}}]},
        ),
        ("作者 = '李'", {"eq": {"作者": "李"}}),
        ('{"eq": {"a": 1}}', {"eq": {"a": 1}}),
    ],
)
def test_texts_and_what_they_mean(text: str, tree: dict[str, Any]) -> None:
    assert read(text) == tree
    assert parse(text) == parse(tree)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("language = en", "character 12, at 'en': expected a number, a date, or a text in quotes"),
        ("year >=", "character 8, at its end"),
        ("year 2020", "character 6, at '2020': expected =, !=, <,"),
        ("year not = 3", "character 6, at 'not = 3': expected =, !="),
        ("= 3", "character 1, at '= 3': expected a field"),
        ("a = 1 b = 2", "character 7, at 'b = 2': expected 'and', 'or' or the end"),
        ("(a = 1", "character 7, at its end, after '(a = 1': expected 'and', 'or' or ')'"),
        ("a in 1", "character 6, at '1': expected a list"),
        ("a in ('x' 'y')", "character 11, at \"'y')\": expected ',' or ')'"),
        ("a = 'x", 'character 5, at "\'x": the text in quotes has no end'),
        ('a = "\\x"', "cannot be read"),
        ("a = 12abc", "character 5, at '12abc'"),
        ("a = 1; DROP TABLE document", "character 6, at '; DROP"),
        ("and = 1", "character 1, at 'and = 1': expected a field"),
        ("a = 1 and", "expected a field"),
        ("{", "begins like JSON"),
        ("not " * 60 + "a = 1", "nested too deeply"),
        ("(" * 5000, "nested too deeply"),
        ("a = 1 or " * 300 + "b = 2", "too large"),
        ("a = 1" + " " * 200_000, "characters: write a shorter one"),
        ("a = 1e999", "texts and numbers"),
        ("a = " + "9" * 5000, "texts and numbers"),
        ("a = 'x\0'", "texts and numbers"),
        ('a = "\\ud800"', "texts and numbers"),
        ("'' = 1", "field cannot be"),
        ("version = 'x'", "'version' is a number: 'x' is none"),
        ("document contains '1'", "'document' is a number"),
        ("version in (1, 'x')", "'version' is a number"),
        ("updated_at = 2020-01-01", "'updated_at' is a time"),
        ("updated_at > 3", "'updated_at' is a date, written 2026-01-31: 3 is none"),
        ("created_at > 2020-13-01", "is a date"),
    ],
)
def test_nonsense_is_told_in_one_line_with_its_place(text: str, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


names = st.one_of(
    st.sampled_from([one for one in HOSTILE if one]), st.from_regex(r"[a-z_]{1,5}", fullmatch=True)
)
values = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)
comparisons: st.SearchStrategy[Filter] = st.one_of(
    st.builds(
        lambda op, name, value: Comparison(op, name, (value,)),
        st.sampled_from(["eq", "ne", "lt", "lte", "gt", "gte"]),
        names,
        values,
    ),
    st.builds(lambda name, some: Comparison("in", name, tuple(some)), names, st.lists(values)),
    st.builds(
        lambda name, text: Comparison("contains", name, (text,)), names, st.sampled_from(HOSTILE)
    ),
    st.builds(lambda name, wanted: Comparison("exists", name, wanted=wanted), names, st.booleans()),
)
filters: st.SearchStrategy[Filter] = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: Every(tuple(parts))),
        st.lists(inner, max_size=3).map(lambda parts: Some(tuple(parts))),
        inner.map(Not),
    ),
    max_leaves=6,
)


def simple(where: Filter) -> Filter:
    """Take away what a text cannot say: that one part alone is every part."""
    if isinstance(where, Every | Some):
        parts = tuple(simple(one) for one in where.of)
        return parts[0] if len(parts) == 1 else type(where)(parts)
    return Not(simple(where.of)) if isinstance(where, Not) else where


@settings(max_examples=200, deadline=None, database=None)
@given(where=filters)
def test_what_is_written_is_read_as_it_was(where: Filter) -> None:
    text = write(where)
    assert parse(text) == simple(where)
    assert write(parse(text)) == text
    fields: dict[str, str | int] = {
        "metadata.a": "x",
        "metadata.and": "3",
        "uri": "u",
        "document": 1,
    }
    assert matches(parse(text), fields) == matches(where, fields)


@settings(max_examples=150, deadline=None, database=None)
@given(text=st.text(st.sampled_from("ab=<>!()'\"\\ ,.123-ndotri\n{}"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        where = parse(text)
    except QueryError:
        return
    assert parse(write(where)) == simple(where)


def test_json_may_stand_in_a_texts_place() -> None:
    tree = {"and": [{"in": {"tag": ["a", 3]}}, {"not": {"exists": {"b": True}}}]}
    assert parse(json.dumps(tree)) == parse(tree)
