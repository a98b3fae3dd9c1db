"""Hashes of prompts and data."""

import hashlib
from pathlib import Path

from ragkit_eval.run.item import Item
from ragkit_eval.tasks.hashing import data_hash, prompt_hash


def test_a_prompt_hash_covers_prompt_choices_and_targets_in_order() -> None:
    item = Item("1", "p", ("t",), choices=("a", "b"))
    expected = hashlib.sha256(b"1;1:p2;1:a1:b1;1:t").hexdigest()[:16]
    assert prompt_hash([item]) == (expected, 1)
    changed = [
        Item("1", "q", ("t",), choices=("a", "b")),
        Item("1", "p", ("u",), choices=("a", "b")),
        Item("1", "p", ("t",), choices=("b", "a")),
        Item("1", "p", ("t",), choices=("ab",)),
        Item("1", "pa", ("t",), choices=("b",)),
        Item("1", "p", ("t",), choices=("a", "b"), turns=("u",)),
    ]
    assert len({prompt_hash([candidate])[0] for candidate in [item, *changed]}) == 7
    assert prompt_hash([item, changed[0]]) != prompt_hash([changed[0], item])


def test_an_id_or_a_group_is_no_part_of_it() -> None:
    assert prompt_hash([Item("1", "p", group="g")]) == prompt_hash([Item("2", "p")])


def test_nothing_has_a_hash_too() -> None:
    assert prompt_hash([]) == ("e3b0c44298fc1c14", 0)  # the sha256 of nothing


def test_a_data_hash_is_of_the_bytes_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").write_bytes(b"two")
    expected = hashlib.sha256(b"onetwo").hexdigest()[:16]
    assert data_hash([tmp_path / "a", tmp_path / "b"]) == expected


def test_text_that_is_half_a_character_has_a_hash() -> None:
    assert prompt_hash([Item("1", "\ud83d")])[1] == 1
