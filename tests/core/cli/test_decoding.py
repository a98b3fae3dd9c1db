"""`-o NAME=VALUE` takes the settings' places, one by one."""

from pathlib import Path

import pytest

from ragkit.cli.decoding import NAMES, decoding_with
from ragkit.errors import UsageError
from ragkit.settings.settings import Settings
from ragkit.types import Decoding

SETTINGS = Settings(llm_url="http://h/v1", llm_model="m", llm_temperature=0.9, llm_seed=7)


def decoding(*options: str, settings: Settings = SETTINGS) -> Decoding:
    return decoding_with(settings, options)


def test_what_is_not_given_stays_as_it_is_set() -> None:
    assert decoding() == Decoding(temperature=0.9, seed=7)
    assert decoding("stop=a", "stop=b=c", "temperature=0", "seed=0") == Decoding(
        stop=("a", "b=c"), seed=0
    )
    assert decoding("max_tokens=5", "top_p=0.5", "regex=[a-z]=") == Decoding(
        temperature=0.9, seed=7, max_tokens=5, top_p=0.5, regex="[a-z]="
    )


def test_every_name_is_a_field_of_decoding() -> None:
    assert set(NAMES) == set(Decoding.__dataclass_fields__)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("temperature", "write NAME=VALUE with one of temperature, top_p"),
        ("heat=1", "'heat=1' is no option"),
        ("temperature=hot", "temperature is a number from 0 to 5"),
        ("temperature=5.1", "temperature is a number from 0 to 5"),
        ("temperature=nan", "temperature is a number from 0 to 5"),
        ("max_tokens=0", "max_tokens is a whole number of at least 1"),
        ("max_tokens=1.5", "max_tokens is a whole number of at least 1"),
    ],
)
def test_nonsense_is_refused(option: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        decoding(option)
    assert message in str(caught.value)


def test_options_need_a_language_model() -> None:
    with pytest.raises(UsageError, match="needs a language model: set RAGKIT_LLM_URL"):
        decoding("seed=1", settings=Settings())


def test_a_schema_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "object"}')
    assert decoding(f"json_schema={file}").json_schema == {"type": "object"}
    with pytest.raises(UsageError, match="not both"):
        decoding(f"json_schema={file}", "regex=a")
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        decoding(f"json_schema={tmp_path / 'nowhere.json'}")
    for text, message in (("{", "is not JSON"), ("[]", "must hold an object")):
        file.write_text(text)
        with pytest.raises(UsageError, match=message):
            decoding(f"json_schema={file}")
    file.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="is not JSON"):
        decoding(f"json_schema={file}")
