"""Decoding options take the settings' places, one by one."""

from pathlib import Path
from typing import Any

import pytest

from ragkit.cli_decoding import decoding_with
from ragkit.errors import UsageError
from ragkit.settings import Settings
from ragkit.types import Decoding

SETTINGS = Settings(llm_url="http://h/v1", llm_model="m", llm_temperature=0.9, llm_seed=7)


def decoding(settings: Settings = SETTINGS, **given: Any) -> Decoding:
    return decoding_with(settings, **{"json_schema": None, "regex": None, **given})


def test_what_is_not_given_stays_as_it_is_set() -> None:
    assert decoding() == Decoding(temperature=0.9, seed=7)
    assert decoding(stop=[], temperature=None) == decoding()
    assert decoding(stop=["a", "b"], temperature=0.0, seed=0) == Decoding(stop=("a", "b"), seed=0)


def test_a_schema_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "object"}')
    assert decoding(json_schema=file).json_schema == {"type": "object"}
    assert decoding(regex="[a-z]").regex == "[a-z]"
    with pytest.raises(UsageError, match="not both"):
        decoding(json_schema=file, regex="a")
    with pytest.raises(UsageError, match="need a language model: set RAGKIT_LLM_URL"):
        decoding(Settings(), json_schema=file)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        decoding(json_schema=tmp_path / "nowhere.json")
    for text, said in (("{", "is not JSON"), ("[]", "must hold an object")):
        file.write_text(text)
        with pytest.raises(UsageError, match=said):
            decoding(json_schema=file)
    file.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="is not JSON"):
        decoding(json_schema=file)
