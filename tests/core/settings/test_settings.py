"""Settings: sources and their order, what is refused and how it is said, and `ragkit config`."""

import json
import os
from pathlib import Path

import pytest
import typer
from pydantic import SecretStr, ValidationError
from typer.testing import CliRunner

from ragkit.cli.config import config
from ragkit.embed.find import default_model
from ragkit.errors import SettingsError
from ragkit.settings.reference import TABLES, USUAL
from ragkit.settings.secrets import masked
from ragkit.settings.settings import Settings, load_settings
from ragkit.settings.sources import trace_settings
from ragkit.settings.tables import place

SERVER = {"RAGKIT_LLM_URL": "http://127.0.0.1:8000/v1", "RAGKIT_LLM_MODEL": "m"}


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in list(os.environ):
        if variable.upper().startswith("RAGKIT_"):
            monkeypatch.delenv(variable)


def write(folder: Path, toml: str) -> Path:
    (folder / "ragkit.toml").write_text(toml, encoding="utf-8")
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(SettingsError) as raised:
        load_settings(folder)
    message = str(raised.value)
    assert "\n" not in message
    assert raised.value.exit_code == 2
    return message


def test_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    settings = load_settings(tmp_path)
    assert settings.home == Path("/data/ragkit")
    assert settings.embed_model == default_model()
    assert (settings.tenant, settings.collection, settings.top_k) == ("default", "default", 10)
    assert settings.database_url is None
    assert settings.llm_url is None
    assert settings.chunk_tokens is None


def test_variables_win_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 'collection = "notes"\n[llm]\ntimeout_s = 1.5\n[search]\ntop_k = 3\n')
    monkeypatch.setenv("RAGKIT_TOP_K", "4")
    traced = trace_settings(tmp_path)
    assert (traced.settings.top_k, traced.settings.collection) == (4, "notes")
    assert traced.settings.llm_timeout_s == 1.5
    assert traced.origins["top_k"] == "RAGKIT_TOP_K"
    assert traced.origins["collection"] == "ragkit.toml"
    assert traced.origins["tenant"] == "default"


def test_working_folder_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path, "[search]\ntop_k = 3"))
    assert load_settings().top_k == 3


def test_empty_variable_counts_as_unset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "[search]\ntop_k = 3")
    monkeypatch.setenv("RAGKIT_TOP_K", "")
    monkeypatch.setenv("RAGKIT_LLM_API_KEY", "")
    assert load_settings(tmp_path).top_k == 3
    assert load_settings(tmp_path).llm_api_key is None


def test_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    assert load_settings(write(tmp_path, "\ufeff[search]\ntop_k = 3")).top_k == 3


@pytest.mark.parametrize(
    ("home", "expected"), [("data", "{cwd}/data"), ("~/data", "/home/me/data"), ("/data", "/data")]
)
def test_home_is_resolved_against_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("RAGKIT_HOME", home)
    assert load_settings(tmp_path).home == Path(expected.format(cwd=tmp_path))


def test_settings_made_by_hand_read_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write(tmp_path, "[search]\ntop_k = 3"))
    monkeypatch.setenv("RAGKIT_COLLECTION", "notes")
    settings = Settings(tenant="t")
    assert (settings.tenant, settings.top_k, settings.collection) == ("t", 10, "default")


def test_settings_are_frozen() -> None:
    settings = Settings()
    with pytest.raises(ValidationError):
        settings.top_k = 3


def test_settings_made_by_hand_are_checked_too() -> None:
    with pytest.raises(SettingsError, match="top_k cannot be used: should be greater"):
        Settings(top_k=0)


@pytest.mark.parametrize(
    ("toml", "parts"),
    [
        ("topk = 5", ["ragkit.toml", "'topk'", "write [search] top_k"]),
        ("xyzzy = 5", ["'xyzzy'", "use one of home, collection, tenant"]),
        ("llm_url = 'x'", ["llm_url stands in the table [llm] as url now"]),
        ("top_k = 5", ["top_k stands in the table [search] now"]),
        ("llm = 'x'", ["llm is a table: write [llm]"]),
        ("[[llm]]\nurl = 'x'", ["llm is a table: write [llm]"]),
        ("[lllm]\nurl = 'x'", ["no table 'lllm'", "write [llm]"]),
        ("[xyzzy]\nurl = 'x'", ["no table 'xyzzy'", "use one of [database], [llm]"]),
        ("[search]\nlexical_index = 'pg_search'", ["'lexical_index' in [search]", "take it away"]),
        ("[llm]\nurll = 'x'", ["'urll' in [llm]", "write url"]),
        ("[llm]\nllm_url = 'x'", ["'llm_url' in [llm]", "write url"]),
        ("[serve]\ntop_k = 5", ["'top_k' in [serve]", "write [search] top_k"]),
        ("[answer]\nxyzzy = 5", ["'xyzzy' in [answer]", "use one of prompts, nli_model"]),
        ("[search]\ntop_k = = 1", ["ragkit.toml is not TOML", "line 2"]),
        ("[search]\ntop_k = 'ten'", ["ragkit.toml: [search] top_k = 'ten'", "integer", "Correct"]),
        ("[search]\ntop_k = 0", ["top_k = 0", "greater than or equal to 1"]),
        ("[search]\ntop_k = 1001", ["top_k = 1001", "less than or equal to 1000"]),
        ("[search]\ntop_k = 2.5", ["top_k = 2.5"]),
        ("[search]\ntop_k = true", ["top_k = True", "not true or false"]),
        ("[search.top_k]\na = 1", ["top_k = {'a': 1}"]),
        ("[ingest]\njobs = 0", ["jobs = 0"]),
        ("[serve]\nkeep_days = 0", ["keep_days = 0", "greater than or equal to 1"]),
        ("[serve]\nkeep_days = 3651", ["keep_days = 3651", "less than or equal to 3650"]),
        ("[llm]\ntimeout_s = 0", ["timeout_s = 0", "greater than 0"]),
        ("[llm]\ntimeout_s = nan", ["timeout_s = nan"]),
        ("[llm]\ntimeout_s = inf", ["timeout_s = inf"]),
        ("home = 5", ["home = 5"]),
        ("collection = ''", ["collection = ''", "empty"]),
        ('collection = "a\\u0000"', ["collection = 'a\\x00'", "NUL"]),
        ("[embed]\nmodel = {a = 1}", ["[embed] model = {'a': 1}"]),
        (
            "[ingest]\nchunk_tokens = 20\nchunk_overlap_tokens = 20",
            ["RAGKIT_CHUNK_OVERLAP_TOKENS ([ingest] chunk_overlap_tokens) = 20 must be less"],
        ),
        (
            "[llm]\nurl = 'provider:openai'",
            ["RAGKIT_LLM_URL ([llm] url) is set but RAGKIT_LLM_MODEL ([llm] model) is not"],
        ),
        ("[llm]\nmodel = 'm'", ["RAGKIT_LLM_MODEL ([llm] model) is set but RAGKIT_LLM_URL"]),
        ("[llm]\nmodel = 'm'\nurl = 'h:80'", ["[llm] url = 'h:80'", "http://host:8000/v1"]),
        ("[llm]\nmodel = 'm'\nurl = 'http://h:x'", ["[llm] url = 'http://h:x'"]),
        ("[llm]\nmodel = 'm'\nurl = 'http://h:1\\@i'", ["[llm] url = 'http://***@i'"]),
        ("[database]\nurl = 'sqlite:///x'", ["[database] url = '***'", "postgresql://user"]),
    ],
)
def test_what_is_refused_is_named(tmp_path: Path, toml: str, parts: list[str]) -> None:
    message = refusal(write(tmp_path, toml))
    for part in parts:
        assert part in message


def test_refused_variable_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGKIT_TOP_K", "ten\nlines")
    assert refusal(tmp_path).startswith(r"RAGKIT_TOP_K = 'ten\nlines' cannot be used: ")


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "ragkit.toml").mkdir()
    assert "ragkit.toml cannot be read: Is a directory" in refusal(tmp_path)


@pytest.mark.parametrize("kind", ["device", "pipe", "large", "folder"])
def test_what_is_no_file_of_settings_is_not_read(tmp_path: Path, kind: str) -> None:
    """Whoever shares a folder can leave anything in it: it costs neither memory nor patience."""
    path = tmp_path / "ragkit.toml"
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(3 << 30)
    else:
        path.mkdir()
    assert "ragkit.toml" in refusal(tmp_path)


def test_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "ragkit.toml").write_bytes("collection = '合同'".encode("gb18030"))
    assert "ragkit.toml is not UTF-8" in refusal(tmp_path)


@pytest.mark.parametrize(
    "toml",
    [
        "llm_api_key = 'hunter2'",
        "llm = 'hunter2'",
        "[llm]\napi_key = ['hunter2']",
        "[llm]\napi_key = {key = 'hunter2'}",
        "[llm]\napi_kei = 'hunter2'",
        "[database]\nurl = 'postgresql://u:12/hunter2@h/d'",
        "[database]\nurl = 'postgresql://u:p@hunter2@h/d'",
        "[database]\nurl = 'postgres+x://u:hunter2@h/d'",
        "[database]\nreplica_url = 'postgres+x://u:hunter2@h/d'",
        "[database]\nreplica_url = 'postgresql://u:hunter2@h/d'",  # without a primary
        "[database]\nurl = 'host=h port=1 password=hunter2 nonsense'",
        "[llm]\nmodel = 'm'\nurl = 'ftp://u:hunter2@h'",
        "[llm]\nmodel = 'm'\nurl = 'http://h h/?key=hunter2'",
    ],
)
def test_refusal_tells_no_secret(tmp_path: Path, toml: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings(write(tmp_path, toml))
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in str(raised.value.__cause__)


def test_representation_tells_no_secret() -> None:
    settings = Settings(
        database_url=SecretStr("postgresql://u:hunter2@h/d"),
        llm_url="http://u:hunter2@h/v1",
        llm_model="m",
        llm_api_key=SecretStr("hunter2"),
    )
    assert "hunter2" not in repr(settings) + str(settings)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("database_url", "postgresql://u:s%40@h:5/d", "user=u password=*** dbname=d host=h port=5"),
        ("database_url", "host=h password='a b' dbname=d", "dbname=d host=h"),
        ("database_url", "postgresql://h/d?sslpassword=s", "sslpassword=***"),
        ("database_url", "nonsense", "***"),
        ("llm_url", "http://h:8000/v1", "http://h:8000/v1"),
        ("llm_url", "https://u:p/?@h/v1", "https://***@h/v1"),
        ("llm_url", "http://h/v1?api-key=s", "http://h/v1?***"),
        ("llm_api_key", "s", "***"),
        ("collection", "notes", "notes"),
    ],
)
def test_masked(name: str, value: str, shown: str) -> None:
    assert shown in masked(name, value)
    assert "'a b'" not in masked(name, value)
    assert "=s" not in masked(name, value)


def run_config(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[str, str]:
    monkeypatch.chdir(folder)
    app = typer.Typer()
    app.command()(config)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def test_config_shows_values_and_origins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "collection = '合同'\n[llm]\napi_key = 'hunter2'")
    for variable, value in SERVER.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", "postgresql://me:hunter2@db/rag")
    monkeypatch.setenv("RAGKIT_TOPK", "5")
    out, err = run_config(tmp_path, monkeypatch)
    tables = shown(out)
    assert tables[""]["collection"] == "合同  (ragkit.toml)"
    assert tables["[llm]"]["api_key"] == "***  (ragkit.toml)"
    assert tables["[llm]"]["model"] == "m  (RAGKIT_LLM_MODEL)"
    assert tables["[database]"]["url"].startswith("user=me password=*** dbname=rag host=db")
    assert tables["[embed]"]["device"] == "chosen by the machine  (default)"
    assert "history_tokens" not in out
    assert "more settings have their default values: `ragkit config --all` shows them" in out
    assert err == "Warning: RAGKIT_TOPK is not a setting of ragkit. Did you mean RAGKIT_TOP_K?\n"
    assert "hunter2" not in out + err


def shown(out: str) -> dict[str, dict[str, str]]:
    """Read {table: {key: what follows}} from what `ragkit config` prints."""
    tables: dict[str, dict[str, str]] = {"": {}}
    for line in out.splitlines():
        if line.startswith("["):
            tables[line] = {}
        elif line and not line[0].isdigit():
            key, rest = line.split(maxsplit=1)
            tables[list(tables)[-1]][key] = rest
    return tables


def test_config_shows_all_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = run_config(tmp_path, monkeypatch, "--all")
    keys = [(table, key) for table, rows in shown(out).items() for key in rows]
    places = [place(name) for name in Settings.model_fields]
    assert keys == [(f"[{table}]" if table else "", key) for table, key in places]
    assert "`ragkit config --all`" not in out


def test_a_variable_named_by_its_table_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_INGEST_JOBS", "2")
    assert trace_settings(tmp_path).unknown == {"RAGKIT_INGEST_JOBS": "RAGKIT_JOBS"}


def test_every_setting_stands_in_one_table_in_its_order() -> None:
    names = [name for entries in TABLES.values() for name in entries]
    assert names == list(Settings.model_fields)
    assert len(set(map(place, names))) == len(names)
    assert set(USUAL) < set(names)


def test_config_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "[search]\ntop_k = 3\n[llm]\napi_key = 'hunter2'")
    monkeypatch.setenv("RAGKIT_ANYTHING", "1")
    monkeypatch.setenv("RAGKIT_EVAL_DATA", "tasks")
    out, err = run_config(tmp_path, monkeypatch, "--json")
    printed = json.loads(out)
    assert printed["settings"]["top_k"] == {"value": 3, "origin": "ragkit.toml"}
    assert printed["settings"]["llm_url"] == {"value": None, "origin": "default"}
    assert printed["settings"]["llm_api_key"]["value"] == "***"
    assert printed["unknown"] == {"RAGKIT_ANYTHING": ""}  # not that of `ragkit eval`
    assert err == ""


def test_secret_may_stand_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "[llm]\napi_key = 'from ragkit.toml'")
    (tmp_path / "key.txt").write_text("\ufeff hunter2 合同 \r\n", encoding="utf-8")
    (tmp_path / "key.txt").chmod(0o444)  # readable by all, as container engines have it
    monkeypatch.setenv("RAGKIT_LLM_API_KEY_FILE", "key.txt")
    monkeypatch.setenv("RAGKIT_OIDC_CLIENT_SECRET_FILE", str(tmp_path / "key.txt"))
    monkeypatch.setenv("RAGKIT_KEY_FILE", "")
    traced = trace_settings(tmp_path)
    assert traced.settings.llm_api_key == SecretStr("hunter2 合同")
    assert traced.settings.oidc_client_secret == SecretStr("hunter2 合同")
    assert traced.settings.key is None
    assert traced.origins["llm_api_key"] == "RAGKIT_LLM_API_KEY_FILE"
    assert traced.origins["key"] == "default"
    assert traced.unknown == {}
    out, err = run_config(tmp_path, monkeypatch)
    assert "***  (RAGKIT_LLM_API_KEY_FILE)" in out
    assert "***  (RAGKIT_OIDC_CLIENT_SECRET_FILE)" in out
    assert "hunter2" not in out + err


def test_only_secrets_are_read_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "name.txt").write_text("notes", encoding="utf-8")
    monkeypatch.setenv("RAGKIT_COLLECTION_FILE", str(tmp_path / "name.txt"))
    traced = trace_settings(tmp_path)
    assert traced.settings.collection == "default"
    assert traced.unknown == {"RAGKIT_COLLECTION_FILE": "RAGKIT_COLLECTION"}


def test_mistyped_file_variable_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGKIT_DATABASE_URI_FILE", "x")
    assert trace_settings(tmp_path).unknown == {
        "RAGKIT_DATABASE_URI_FILE": "RAGKIT_DATABASE_URL_FILE"
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "secret' cannot be read: No such file"),
        (b"", "secret' is empty: write the secret into it."),
        (b" \n\t\n", "secret' is empty"),
        ("合同".encode("gb18030"), "secret' is not UTF-8"),
    ],
)
def test_secret_file_that_holds_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, said: str
) -> None:
    folder = tmp_path / ("of-many-letters-" * 4)  # the name at the end is what tells
    folder.mkdir()
    if content is not None:
        (folder / "secret").write_bytes(content)
    monkeypatch.setenv("RAGKIT_DATABASE_URL_FILE", str(folder / "secret"))
    message = refusal(tmp_path)
    assert message.startswith("RAGKIT_DATABASE_URL_FILE = '/")
    assert said in message


def test_folder_is_no_secret_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGKIT_KEY_FILE", ".")
    assert "cannot be read: Is a directory" in refusal(tmp_path)


def test_secret_and_its_file_exclude_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("hunter2", encoding="utf-8")
    monkeypatch.setenv("RAGKIT_LLM_API_KEY_FILE", "secret")
    monkeypatch.setenv("RAGKIT_LLM_API_KEY", "hunter3")
    assert refusal(tmp_path) == (
        "RAGKIT_LLM_API_KEY and RAGKIT_LLM_API_KEY_FILE are both set: take one of them away."
    )


def test_refused_secret_of_a_file_is_named_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "url").write_text("postgresql://u:p@hunter2@h/d", encoding="utf-8")
    monkeypatch.setenv("RAGKIT_DATABASE_URL_FILE", "url")
    message = refusal(tmp_path)
    assert message.startswith("RAGKIT_DATABASE_URL_FILE = '***' cannot be used: write it as")
    assert "hunter2" not in message


def test_every_secret_is_masked() -> None:
    fields = Settings.model_fields.items()
    secrets = [name for name, field in fields if "SecretStr" in str(field.annotation)]
    assert secrets == [
        "key",
        "database_url",
        "database_owner_url",
        "database_replica_url",
        "llm_api_key",
        "embed_api_key",
        "reranker_api_key",
        "oidc_client_secret",
    ]
    for name in secrets:
        assert "hunter2" not in masked(name, SecretStr("hunter2"))
        assert "hunter2" not in masked(name, "hunter2")


def test_a_reason_that_is_a_sentence_ends_once() -> None:
    with pytest.raises(SettingsError) as error:
        Settings(splitter="nonsense")
    said = "code and langchain:CLASS. Correct it, or take it away for the default."
    assert str(error.value).endswith(said)
