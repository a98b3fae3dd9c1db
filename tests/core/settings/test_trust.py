"""What a stranger's folder may decide: nothing that sends data, runs anything or lets others in."""

import os
import stat
from pathlib import Path
from typing import Any, Final

import pytest

from ragkit.errors import SettingsError
from ragkit.settings.settings import Settings, load_settings
from ragkit.settings.tables import place, written
from ragkit.settings.trust import HARMLESS, REACHING
from tests.commands import run

STRANGER: Final = 12345
VALUES: Final = {
    "web": "on", "tenants": "on", "serve_auth": "none", "serve_audit": "off", "serve_host": "::",
    "llm_url": "http://127.0.0.1:9/v1", "database_url": "postgresql://h/d",
    "database_owner_url": "postgresql://h/d", "database_replica_url": "postgresql://h/d",
}  # fmt: skip
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in list(os.environ):
        if variable.upper().startswith("RAGKIT_"):
            monkeypatch.delenv(variable)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder of the user's own."""
    work = tmp_path / "work"
    work.mkdir(mode=0o755)
    work.chmod(0o755)
    return work


def write(folder: Path, *names: str, **others: Any) -> Path:
    given = {name: VALUES.get(name, "value") for name in names} | others
    file = folder / "ragkit.toml"
    tables: dict[str, str] = {"": ""}
    for name, value in given.items():
        table, key = place(name)
        head = f"[{table}]\n" if table else ""
        tables[table] = tables.get(table, head) + f"{key} = {value!r}\n"
    file.write_text("".join(tables.values()))
    file.chmod(0o644)
    return file


def refusal(folder: Path) -> str:
    with pytest.raises(SettingsError) as refused:
        load_settings(folder)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_every_setting_is_classified_once() -> None:
    """A new setting is a line in REACHING, with what it decides, or a word in HARMLESS."""
    assert REACHING.keys() | HARMLESS == set(Settings.model_fields)
    assert REACHING.keys() & HARMLESS == set()


def test_what_names_an_address_a_program_or_a_secret_is_never_harmless() -> None:
    signs = ("url", "key", "secret", "python", "image", "host", "issuer", "address", "path")
    words = {name for name in HARMLESS if set(name.split("_")) & set(signs)}
    assert words == {"serve_key_concurrency", "serve_key_rate"}  # numbers


@AS_ROOT
@pytest.mark.parametrize("name", sorted(REACHING))
@pytest.mark.parametrize("whose", ["file", "folder", "both"])
def test_a_strangers_folder_decides_nothing_that_reaches_out(
    folder: Path, name: str, whose: str
) -> None:
    file = write(folder, name)
    if whose != "folder":
        os.chown(file, STRANGER, STRANGER)
    if whose != "file":
        os.chown(folder, STRANGER, STRANGER)
    said = refusal(folder)
    assert f"{file}': {written(name)} = " in said
    assert f"belongs to user {STRANGER}" in said
    assert f"set RAGKIT_{name.upper()} instead" in said


@pytest.mark.parametrize("name", sorted(REACHING))
@pytest.mark.parametrize("mode", [0o002, 0o020])
def test_nor_does_one_that_others_may_write_to(folder: Path, name: str, mode: int) -> None:
    file = write(folder, name)
    for path in (file, folder):
        before = stat.S_IMODE(path.stat().st_mode)
        os.chown(path, -1, 23456) if os.geteuid() == 0 else None
        if os.geteuid() != 0 and mode == 0o020:
            pytest.skip("the user's private group may write")
        path.chmod(before | mode)
        assert f"others may write to '{path}': run `chmod go-w`" in refusal(folder)
        path.chmod(before)


def test_secrets_are_not_in_the_message(folder: Path) -> None:
    file = write(folder, llm_api_key="topsecret", database_url="postgresql://u:hidden@h/d")
    file.chmod(0o666)
    assert "topsecret" not in refusal(folder)
    file.chmod(0o644)
    write(folder, database_url="postgresql://u:hidden@h/d")
    file.chmod(0o666)
    assert "hidden" not in refusal(folder)


@AS_ROOT
def test_what_is_harmless_is_taken_from_anybody(folder: Path) -> None:
    os.chown(write(folder, top_k=3, collection="notes"), STRANGER, STRANGER)
    assert load_settings(folder).top_k == 3


@AS_ROOT
def test_a_variable_takes_the_place_of_what_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(write(folder, embed_model="theirs"), STRANGER, STRANGER)
    assert "[embed] model = 'theirs'" in refusal(folder)
    monkeypatch.setenv("RAGKIT_EMBED_MODEL", "mine")
    assert load_settings(folder).embed_model == "mine"


def test_a_folder_like_tmp_is_as_good_as_the_users_own(folder: Path) -> None:
    folder.chmod(0o1777)
    write(folder, embed_model="mine")
    assert load_settings(folder).embed_model == "mine"


def test_what_a_file_decides_is_said_once_by_each_command(folder: Path) -> None:
    file = write(folder, llm_url="http://me:hidden@127.0.0.1:9/v1", llm_model="m", top_k=3)
    environment = {"RAGKIT_HOME": str(folder / "home")}
    for _ in range(2):
        done = run("db", "status", folder=folder, environment=environment)
        assert done.stderr == f"ragkit: {file} sets [llm] url = 'http://***@127.0.0.1:9/v1'\n"
    write(folder, top_k=3)
    assert run("db", "status", folder=folder, environment=environment).stderr == ""


def test_it_is_said_once_although_settings_are_read_twice(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(folder, embed_model="a\n\x1b[2Jb", vllm_python="bin/python")
    load_settings(folder)
    load_settings(folder)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"ragkit: {file} sets [embed] model = ")
    assert "\x1b" not in said
    assert "[llm] vllm_python = 'bin/python'" in said
