"""One value of a ragkit.toml: set without touching the rest, and taken back to the byte."""

import tomllib
from pathlib import Path

import pytest

from ragkit.errors import SettingsError
from ragkit_tune.adopt.toml_line import set_value, take_back

FILES = {
    "empty": "",
    "other table": '# mine\ncollection = "c"\n\n[llm]\nurl = "http://h/v1"  # home\n',
    "no line end": "[llm]\nseed = 1",
    "table without the key": "[search]\ntop_k = 5\n\n[llm]\nseed = 1\n",
    "table at the end": "[search]",
    "key": '[search]\nreranker = "cosine"  # good\ntop_k = 5\n[llm]\nseed = 1\n',
    "key elsewhere": '[llm]\nreranker_like = 1\n[search]  # mine\n  reranker="cosine"\n',
    "windows": '[search]\r\nreranker = "cosine"\r\ntop_k = 5\r\n',
    "mark": '\ufeff[search]\nreranker = "cosine"\n',
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_a_value_is_set_and_taken_back(text: str, tmp_path: Path) -> None:
    file = tmp_path / "ragkit.toml"
    file.write_bytes(text.encode())
    file.chmod(0o640)
    edit = set_value(file, "search", "reranker", '/m/a "b" é')
    before = tomllib.loads(text.removeprefix("\ufeff"))
    after = tomllib.loads(file.read_bytes().decode().removeprefix("\ufeff"))
    assert after.pop("search") == before.pop("search", {}) | {"reranker": '/m/a "b" é'}
    assert after == before
    assert file.stat().st_mode & 0o777 == 0o640
    take_back(edit)
    assert file.read_bytes() == text.encode()


def test_a_file_that_was_made_is_removed_again_unless_it_grew(tmp_path: Path) -> None:
    file = tmp_path / "ragkit.toml"
    edit = set_value(file, "search", "reranker", "/m")
    assert file.read_text("utf-8") == '[search]\nreranker = "/m"\n'
    assert file.stat().st_mode & 0o777 == 0o600
    take_back(edit)
    assert not file.exists()
    edit = set_value(file, "search", "reranker", "/m")
    file.write_text(file.read_text("utf-8") + "top_k = 5\n", "utf-8")
    take_back(edit)
    assert file.read_text("utf-8") == "top_k = 5\n"


def test_a_value_that_somebody_changed_stays(tmp_path: Path) -> None:
    file = tmp_path / "ragkit.toml"
    edit = set_value(file, "search", "reranker", "/m")
    file.write_text('[search]\nreranker = "/other"\n', "utf-8")
    with pytest.raises(SettingsError, match="was changed since the adoption and no longer has"):
        take_back(edit)
    assert file.read_text("utf-8") == '[search]\nreranker = "/other"\n'


@pytest.mark.parametrize(
    "text",
    [
        'search = { reranker = "cosine" }\n',
        'search.reranker = "cosine"\n',
        '[search]\nreranker = """\ncosine"""\n',
        '[llm]\nx = """\n[search]\n"""\n',
    ],
)
def test_what_only_a_person_can_change_is_left_alone(text: str, tmp_path: Path) -> None:
    file = tmp_path / "ragkit.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=r"\[search\] reranker cannot be set by a program"):
        set_value(file, "search", "reranker", "/m")
    assert file.read_text("utf-8") == text
