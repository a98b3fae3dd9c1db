"""The settings: frozen values, read once at the edge from ragkit.toml and RAGKIT_* variables.

A secret's variable may name a file in its place: RAGKIT_LLM_API_KEY_FILE for RAGKIT_LLM_API_KEY.
`Settings(...)` itself reads nothing but its arguments, so that the core takes it as a plain value.
Knows nothing of what the settings are used for.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, get_args
from urllib.parse import urlsplit

from platformdirs import user_data_path
from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from ragkit.errors import SettingsError
from ragkit.masking import is_database_url, masked

FILE: Final = "ragkit.toml"
PREFIX: Final = "RAGKIT_"
EVAL_DATA: Final = "RAGKIT_EVAL_DATA"  # read by `ragkit eval`'s commands alone

_PATHS: Final = frozenset({"home", "prompts", "vllm_python", "llamacpp_python", "quantize_python"})

Count = Annotated[int, Field(ge=1, le=1_000_000)]  # the upper bound only catches slips
Seconds = Annotated[int, Field(ge=1, le=86_400)]


class Settings(BaseSettings):
    """Everything that a user can set; raises SettingsError for what cannot be used.

    >>> Settings(top_k=5).top_k
    5
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,  # a secret may stand in the wrong place
        str_strip_whitespace=True,
    )

    # Where the embedded database lives.
    home: Path = Field(default_factory=lambda: user_data_path("ragkit"))
    # None: the embedded database. Otherwise a PostgreSQL server's address.
    database_url: SecretStr | None = None
    # The same database as the role that owns its tables, for migrations and indexes. None: the role
    # above owns them.
    database_owner_url: SecretStr | None = None
    # A streaming standby of that server, which searches read from where it has seen every write.
    database_replica_url: SecretStr | None = None
    # What stands between: nothing, or PgBouncer in transaction mode.
    database_pooler: Literal["none", "transaction"] = "none"
    # on: row-level security keeps tenants apart, and a role that could see past it is refused.
    tenants: Literal["off", "on"] = "off"

    # None: answers are quoted sentences. Otherwise the base URLs of OpenAI-compatible servers with
    # spaces between them, or local:MODEL, or provider:NAME (see ragkit.model.open).
    llm_url: str | None = Field(default=None, repr=False)  # may hold a password
    llm_model: str | None = None
    llm_api_key: SecretStr | None = None
    # Arbitrary: how long a server may stay silent, and how long an answer may take in all.
    llm_timeout_s: float = Field(default=60, gt=0, le=86_400)
    llm_total_timeout_s: float = Field(default=600, gt=0, le=86_400)
    # None: what the server says of its model, or the model's configuration; then 4096.
    llm_context_tokens: Annotated[int, Field(ge=256, le=100_000_000)] | None = None
    # None: the model's own, asked of the server or found in the local cache; then an estimate.
    llm_tokenizer: str | None = None
    # Of the passages in a prompt. None: as many as fit, up to a limit that a CPU lowers.
    llm_budget_tokens: Annotated[int, Field(ge=64, le=10_000_000)] | None = None
    # Decoding; None leaves the choice to the server.
    llm_temperature: float = Field(default=0, ge=0, le=5)
    llm_top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    llm_top_k: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    llm_min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    llm_repetition_penalty: Annotated[float, Field(gt=0, le=10)] | None = None
    llm_presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    llm_max_tokens: Count = 1024  # arbitrary: a page of text
    llm_stop: str | None = None
    llm_seed: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    # A folder with templates that take the place of ragkit's own.
    prompts: Path | None = None
    # None: claims are checked by their words. Otherwise a natural-language-inference model.
    nli_model: str | None = None

    # The model that comes with the installation.
    embed_model: str = "all-MiniLM-L6-v2"
    embed_device: str | None = None  # None: sentence-transformers chooses
    # None: all of the model's. Otherwise only the first so many, of a Matryoshka model.
    embed_dimension: Annotated[int, Field(ge=1, le=100_000)] | None = None

    tenant: str = "default"
    principal: str = "default"  # whose conversations
    collection: str = "default"
    # Of a conversation in a prompt; older turns are summarised. Arbitrary.
    history_tokens: int = Field(default=1000, ge=0, le=10_000_000)
    # What `ragkit mcp` acts for: a key made by `ragkit keys create`.
    key: SecretStr | None = None

    # Python interpreters of the environments that have vLLM, llama.cpp's server, llm-compressor.
    # None: this one.
    vllm_python: Path | None = None
    llamacpp_python: Path | None = None
    quantize_python: Path | None = None
    # A container image that has vLLM, used in the interpreter's place.
    vllm_image: str | None = None

    # `ragkit serve`: where it listens, and how many processes answer.
    serve_host: str = "127.0.0.1"
    serve_port: int = Field(default=8080, ge=0, le=65535)  # 0: any that is free
    serve_workers: int = Field(default=1, ge=1, le=256)
    # auto: keys are needed as soon as there are any, or when others than this machine can connect.
    serve_auth: Literal["auto", "keys", "none"] = "auto"
    # Host names that it answers to besides its own address, and web origins that may call it from
    # a browser; both with spaces between them.
    serve_hosts: str | None = None
    serve_origins: str | None = None
    # Of one process: questions answered at once, questions that may wait. Arbitrary.
    serve_concurrency: int = Field(default=32, ge=1, le=10_000)
    serve_queue: int = Field(default=64, ge=0, le=100_000)
    # Of one key, in one process: questions at once, requests a minute. Arbitrary.
    serve_key_concurrency: int = Field(default=8, ge=1, le=10_000)
    serve_key_rate: int = Field(default=600, ge=1, le=1_000_000)
    serve_max_upload_mb: int = Field(default=64, ge=1, le=1024)  # arbitrary
    # How long running answers may go on after SIGTERM. Arbitrary; container engines allow 10 to 30.
    serve_grace_s: float = Field(default=20, ge=0, le=3600)
    # How long answers that were asked for with `store` are kept. Arbitrary.
    serve_keep_days: int = Field(default=30, ge=1, le=3650)
    # Who asked what of which collection: nothing, without the texts, or with them.
    serve_audit: Literal["off", "metadata", "texts"] = "metadata"
    # Single sign-on for the chat page: an OpenID Connect issuer, and what it knows ragkit as.
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: SecretStr | None = None
    oidc_principal_claim: str = "sub"  # what names a person for good; e-mail addresses are reused
    oidc_scopes: str = "read"  # what people who log in so may do: read, write, admin
    oidc_groups_claim: str | None = None  # what names their groups, whose documents they may read

    # None: just under the embedding model's limit, with a small overlap.
    chunk_tokens: Annotated[int, Field(ge=8, le=1_000_000)] | None = None
    chunk_overlap_tokens: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    # What nDCG@10 and recall@10 look at. pgvector's hnsw.ef_search ends at 1000.
    top_k: int = Field(default=10, ge=1, le=1000)

    # Vectors of spaces made from now on: how they are stored, compared and indexed. auto: HNSW
    # above 10,000 rows.
    vector_type: Literal["halfvec", "vector", "bit"] = "halfvec"
    vector_metric: Literal["cosine", "ip", "l2"] = "cosine"
    vector_index: Literal["auto", "none", "hnsw", "ivfflat"] = "auto"
    # Words: the analyser of collections made from now on, and BM25's constants. What indexes them:
    # ragkit's own postings, or an extension that the server has.
    stem: Literal["english", "none"] = "english"
    cjk: Literal["bigrams", "rjieba"] = "bigrams"
    bm25_k1: float = Field(default=1.2, ge=0, le=100)
    bm25_b: float = Field(default=0.75, ge=0, le=1)
    lexical_index: Literal["ragkit", "pg_textsearch", "pg_search"] = "ragkit"
    # Of a document, when a newer version takes its place: how many old ones are kept.
    keep_versions: int = Field(default=0, ge=0, le=10_000)
    # How both are fused; the weight is the dense leg's in a weighted sum.
    fusion: Literal["calibrated", "rrf", "weighted"] = "calibrated"
    fusion_dense_weight: float = Field(default=0.5, ge=0, le=1)
    # None: no reranking. Otherwise cosine, a cross-encoder's folder or hub name, late:MODEL for a
    # multi-vector model, or the URL of a /rerank endpoint.
    reranker: str | None = Field(default=None, repr=False)  # may hold a password
    reranker_model: str | None = None  # as the endpoint knows it
    reranker_api_key: SecretStr | None = None
    rerank_candidates: int = Field(default=20, ge=1, le=1000)
    # Hits: how many of one document, how far likeness to better hits counts against one, whether
    # passages with the same text are shown once, what is shown around a hit.
    max_per_document: Annotated[int, Field(ge=1, le=1000)] | None = None
    diversity: float = Field(default=0, ge=0, le=1)
    duplicates: Literal["collapse", "keep"] = "collapse"
    expand: Literal["none", "neighbours", "section", "parent"] = "none"
    expand_tokens: Count = 1024  # arbitrary: what a hit may be widened to
    # What a language model does with a question before it is searched for.
    queries: Literal["one", "multi", "hyde"] = "one"
    infer_filters: Literal["off", "on"] = "off"

    # A toolkit was seen to need 1.18 GB for a hostile .docx of 449 KiB: such a file is refused.
    # The rest is arbitrary: an office document takes about a second and tens of MB.
    parse_memory_mb: int = Field(default=1024, ge=64, le=1_000_000)
    parse_cpu_s: Seconds = 60
    parse_wall_s: Seconds = 120
    parse_unzipped_mb: Count = 256
    # Arbitrary default; PostgreSQL keeps at most 1 GB in one text.
    max_file_mb: int = Field(default=512, ge=1, le=1024)
    jobs: Annotated[int, Field(ge=1, le=1024)] | None = None  # None: by the number of cores

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)

    @model_validator(mode="wrap")
    @classmethod
    def _translate(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            settings = handler(values)
        except ValidationError as error:
            raise SettingsError(_explain(error, {}, {})) from error
        settings._check_together()
        return settings

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_slips(cls, value: object) -> object:
        if isinstance(value, bool):  # pydantic would take true as 1
            raise ValueError("a number or a text is needed, not true or false")
        if isinstance(value, str) and (not value.strip() or "\0" in value):
            raise ValueError("it is empty, or holds a NUL character")
        return value

    @field_validator("database_url", "database_owner_url", "database_replica_url")
    @classmethod
    def _check_database_url(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not is_database_url(url.get_secret_value()):
            raise ValueError(
                "write it as postgresql://user:password@host:5432/database, special characters in"
                " the password as %40 for @"
            )
        return url

    @field_validator("llm_url")
    @classmethod
    def _check_llm_url(cls, url: str | None) -> str | None:
        if url is None or re.fullmatch(r"(local|provider):\S.*", url):
            return url
        for one in url.split():
            if not _is_http(one):
                raise ValueError("write it as http://host:8000/v1, local:MODEL or provider:NAME")
        return url

    def _check_together(self) -> None:
        if self.database_replica_url is not None and self.database_url is None:
            raise SettingsError(
                "database_replica_url is set but database_url is not: the embedded database has no"
                f" standby; set {PREFIX}DATABASE_URL to the primary server, or take it away."
            )
        named = (self.llm_url or "").startswith("local:")  # names its model itself
        if not named and (self.llm_url is None) != (self.llm_model is None):
            pair = ("llm_url", "llm_model")
            there, missing = pair if self.llm_url else reversed(pair)
            raise SettingsError(
                f"{there} is set but {missing} is not: set {PREFIX}{missing.upper()} as well,"
                f" or take {there} away."
            )
        overlap, size = self.chunk_overlap_tokens, self.chunk_tokens
        if overlap is not None and size is not None and overlap >= size:
            raise SettingsError(
                f"chunk_overlap_tokens = {overlap} must be less than chunk_tokens = {size}:"
                " make it smaller."
            )


@dataclass(frozen=True, slots=True)
class TracedSettings:
    """Settings, each one's origin ("default", "ragkit.toml" or a variable), and stray variables.

    `unknown` maps a RAGKIT_* variable that means nothing to the one that may be meant, or "".
    """

    settings: Settings
    origins: Mapping[str, str]
    unknown: Mapping[str, str]


def load_settings(cwd: Path | None = None) -> Settings:
    """Read ragkit.toml in `cwd` (default: the working folder) and RAGKIT_* variables, which win.

    A file that a RAGKIT_*_FILE variable names holds a secret: it counts as that variable.
    Raises SettingsError naming the file or variable, the key, the value and the remedy.
    """
    return trace_settings(cwd).settings


def trace_settings(cwd: Path | None = None) -> TracedSettings:
    """Do what `load_settings` does, and tell where each value came from."""
    folder = Path.cwd() if cwd is None else cwd.absolute()
    in_file = _read_file(folder / FILE)
    variables = EnvSettingsSource(Settings)()
    origins = dict.fromkeys(Settings.model_fields, "default")
    origins |= dict.fromkeys(in_file, FILE)
    origins |= {name: PREFIX + name.upper() for name in variables}
    in_secret_files = _read_secret_files(folder, variables)
    origins |= {name: _file_variable(name) for name in in_secret_files}
    values = {**in_file, **variables, **in_secret_files}
    for name in _PATHS & values.keys():
        if isinstance(values[name], str):
            values[name] = folder / os.path.expanduser(values[name])
    try:
        settings = Settings(**values)
    except SettingsError as error:
        if isinstance(error.__cause__, ValidationError):
            raise SettingsError(_explain(error.__cause__, values, origins)) from error.__cause__
        raise
    return TracedSettings(settings, origins, _unknown_variables())


def _explain(
    error: ValidationError, values: Mapping[str, object], origins: Mapping[str, str]
) -> str:
    """Make one line of the first thing that pydantic finds wrong."""
    first = error.errors(include_url=False, include_input=False)[0]
    name = str(first["loc"][0])
    origin = origins.get(name, "")
    if first["type"] == "extra_forbidden":
        return _unknown_key(name, origin)
    where = origin if origin.startswith(PREFIX) else f"{origin}: {name}".removeprefix(": ")
    if name in values:
        shown = masked(name, values[name])
        where += f" = {_short(shown) if isinstance(values[name], str) else shown[:80]}"
    reason = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{where} cannot be used: {reason}. Correct it, or take it away for the default."


def _unknown_key(name: str, origin: str) -> str:
    close = get_close_matches(name, Settings.model_fields, n=1)
    remedy = f"write {close[0]}" if close else f"use one of {', '.join(Settings.model_fields)}"
    return f"{origin or 'Settings'}: there is no setting {_short(name)}; {remedy}."


def _unknown_variables() -> Mapping[str, str]:
    """Find RAGKIT_* variables that set nothing, each with the one that may be meant."""
    known = [name.upper() for name in Settings.model_fields]
    known += [_file_variable(name).removeprefix(PREFIX) for name in _secrets()]
    known.append(EVAL_DATA.removeprefix(PREFIX))
    found = {}
    for variable in sorted(os.environ):
        name = variable.upper().removeprefix(PREFIX)  # case does not matter here
        if name != variable.upper() and name not in known:
            close = get_close_matches(name, known, n=1, cutoff=0.75)
            found[variable] = PREFIX + close[0] if close else ""
    return found


def _secrets() -> list[str]:
    fields = Settings.model_fields.items()
    return [name for name, field in fields if SecretStr in get_args(field.annotation)]


def _file_variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}_FILE"


def _read_secret_files(folder: Path, variables: Mapping[str, object]) -> dict[str, str]:
    """Read the secrets whose variables name files; who else may read a file is not ours to judge.

    Container engines mount secrets readable by all inside; systemd's are its service's alone.
    """
    given = {variable.upper(): value for variable, value in os.environ.items()}
    found = {}
    for name in _secrets():
        variable = _file_variable(name)
        path = given.get(variable, "").strip()
        if not path:
            continue
        if name in variables:
            raise SettingsError(
                f"{PREFIX}{name.upper()} and {variable} are both set: take one of them away."
            )
        found[name] = _read_secret(variable, folder / os.path.expanduser(path))
    return found


def _read_secret(variable: str, path: Path) -> str:
    shown = _short(str(path))
    try:
        secret = path.read_bytes().decode("utf-8-sig").strip()
    except OSError as error:
        raise SettingsError(
            f"{variable} = {shown} cannot be read: {error.strerror}. Make it readable, or name"
            " another file."
        ) from error
    except UnicodeDecodeError:
        # The cause would quote what stands in the file.
        raise SettingsError(f"{variable} = {shown} is not UTF-8: save it as UTF-8.") from None
    except ValueError as error:  # a NUL in the path
        raise SettingsError(f"{variable} = {shown} is no path: {error}. Correct it.") from error
    if not secret:
        raise SettingsError(f"{variable} = {shown} is empty: write the secret into it.")
    return secret


def _read_file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes().decode("utf-8-sig")  # Windows editors write a mark
        return tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read: {error.strerror}. Make it readable, or remove it."
        ) from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8: save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}. Correct that line.") from error


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError where it is no number
    except ValueError:
        return False
    # Programs disagree on where the host ends beside a backslash or white space.
    strange = re.search(r"[\s\\\x00-\x1f]", url)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not strange


def _short(value: str) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "...'"
