"""The settings: frozen values with their bounds and defaults.

`Settings(...)` itself reads nothing but its arguments, so that the core takes it as a plain value;
`load_settings` reads them once at the edge.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ragkit.embed.find import SERVED, default_model
from ragkit.errors import SettingsError
from ragkit.settings.home import default_home
from ragkit.settings.ingest_options import check_splitter
from ragkit.settings.mask_kinds import mask_kinds
from ragkit.settings.problems import PREFIX, explained
from ragkit.settings.secrets import is_database_url
from ragkit.settings.tables import written

Count = Annotated[int, Field(ge=1, le=1_000_000)]  # the upper bound only catches slips
Seconds = Annotated[int, Field(ge=1, le=86_400)]


class Settings(BaseSettings):
    """Every setting; raises SettingsError for a value that cannot be used.

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

    # What each does: ragkit.settings.reference, which docs/settings.md is written from. Here stand
    # the bounds, and why a default is as it is.
    home: Path = Field(default_factory=default_home)
    collection: str = "default"
    tenant: str = "default"
    principal: str = "default"
    key: SecretStr | None = None

    database_url: SecretStr | None = None
    database_owner_url: SecretStr | None = None
    database_replica_url: SecretStr | None = None
    database_pooler: Literal["none", "transaction"] = "none"
    tenants: Literal["off", "on"] = "off"

    llm_url: str | None = Field(default=None, repr=False)  # may hold a password
    # None: the first model that the server has.
    llm_model: str | None = None
    llm_api_key: SecretStr | None = None
    # Arbitrary: how long a server may stay silent, and how long an answer may take in all.
    llm_timeout_s: float = Field(default=60, gt=0, le=86_400)
    llm_total_timeout_s: float = Field(default=600, gt=0, le=86_400)
    llm_context_tokens: Annotated[int, Field(ge=256, le=100_000_000)] | None = None
    llm_tokenizer: str | None = None
    llm_budget_tokens: Annotated[int, Field(ge=64, le=10_000_000)] | None = None
    llm_temperature: float = Field(default=0, ge=0, le=5)
    llm_max_tokens: Count = 1024  # arbitrary: a page of text
    llm_seed: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    vllm_python: Path | None = None
    llamacpp_python: Path | None = None
    tune_python: Path | None = None

    # The bilingual model that comes with the installation, or the English one where it does not.
    embed_model: str = Field(default_factory=default_model)
    embed_url: str | None = Field(default=None, repr=False)  # may hold a password
    embed_api_key: SecretStr | None = None
    embed_tokenizer: str | None = None
    embed_context_tokens: Annotated[int, Field(ge=16, le=1_000_000)] | None = None
    embed_device: str | None = None
    embed_dimension: Annotated[int, Field(ge=1, le=100_000)] | None = None

    # How files become passages (ragkit.settings.ingest_options); a collection may have its own.
    splitter: str = "structural"
    chunk_tokens: Annotated[int, Field(ge=8, le=1_000_000)] | None = None
    chunk_overlap_tokens: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    chunk_header: Literal["off", "on"] = "off"
    long_chunks: Literal["refuse", "mean", "max", "weighted"] = "refuse"
    unicode: Literal["nfc", "nfkc", "none"] = "nfc"
    mask: str | None = None
    boilerplate: Literal["keep", "drop"] = "keep"
    near_duplicates: Literal["keep", "flag", "drop"] = "keep"
    comments: Literal["drop", "keep"] = "drop"
    revisions: Literal["accepted", "original", "both"] = "accepted"
    ocr: Literal["auto", "off"] = "auto"
    pdf_layout: Literal["text", "docling"] = "text"
    web: Literal["off", "on"] = "off"
    keep_versions: int = Field(default=0, ge=0, le=10_000)
    # A toolkit was seen to need 1.18 GB for a hostile .docx of 449 KiB: such a file is refused.
    # OCR reserves 1.0 to 1.2 GB, of which it uses 0.4. The rest is arbitrary: an office document
    # takes about a second and tens of MB.
    parse_memory_mb: int = Field(default=1536, ge=64, le=1_000_000)
    parse_cpu_s: Seconds = 60
    parse_wall_s: Seconds = 120
    parse_unzipped_mb: Count = 256
    # Arbitrary: 16 are some 8,000 pages. What embeds a text takes about 20 bytes a character, and
    # PostgreSQL keeps at most 1 GB, of up to 4 bytes each, in one.
    parse_text_mchars: int = Field(default=16, ge=1, le=256)
    # Arbitrary default; PostgreSQL keeps at most 1 GB in one text.
    max_file_mb: int = Field(default=512, ge=1, le=1024)
    jobs: Annotated[int, Field(ge=1, le=1024)] | None = None

    # What nDCG@10 and recall@10 look at. pgvector's hnsw.ef_search ends at 1000.
    top_k: int = Field(default=10, ge=1, le=1000)
    reranker: str | None = Field(default=None, repr=False)  # may hold a password
    reranker_model: str | None = None
    reranker_api_key: SecretStr | None = None
    rerank_candidates: int = Field(default=20, ge=1, le=1000)
    max_per_document: Annotated[int, Field(ge=1, le=1000)] | None = None
    diversity: float = Field(default=0, ge=0, le=1)
    expand: Literal["none", "neighbours", "section", "parent"] = "none"
    queries: Literal["one", "multi", "hyde"] = "one"
    infer_filters: Literal["off", "on"] = "off"
    stem: Literal["english", "none"] = "english"
    cjk: Literal["bigrams", "rjieba"] = "bigrams"
    vector_type: Literal["halfvec", "vector", "bit"] = "halfvec"
    vector_index: Literal["auto", "none", "hnsw", "ivfflat"] = "auto"

    prompts: Path | None = None
    nli_model: str | None = None
    history_tokens: int = Field(default=1000, ge=0, le=10_000_000)  # arbitrary

    serve_host: str = "127.0.0.1"
    serve_port: int = Field(default=8080, ge=0, le=65535)
    serve_workers: int = Field(default=1, ge=1, le=256)
    serve_auth: Literal["auto", "keys", "none"] = "auto"
    serve_hosts: str | None = None
    serve_origins: str | None = None
    # Of one process; of one key, in one process. Arbitrary.
    serve_concurrency: int = Field(default=32, ge=1, le=10_000)
    serve_key_concurrency: int = Field(default=8, ge=1, le=10_000)
    serve_key_rate: int = Field(default=600, ge=1, le=1_000_000)
    serve_max_upload_mb: int = Field(default=64, ge=1, le=1024)  # arbitrary
    serve_grace_s: float = Field(default=20, ge=0, le=3600)  # container engines allow 10 to 30
    serve_keep_days: int = Field(default=30, ge=1, le=3650)  # arbitrary
    serve_audit: Literal["off", "metadata", "texts"] = "metadata"
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: SecretStr | None = None
    oidc_principal_claim: str = "sub"  # e-mail addresses are reused
    oidc_scopes: str = "read"
    oidc_groups_claim: str | None = None

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
            raise SettingsError(explained(error, cls.model_fields)) from error
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

    @field_validator("mask")
    @classmethod
    def _check_mask(cls, kinds: str | None) -> str | None:
        mask_kinds(kinds)
        return kinds

    @field_validator("splitter")
    @classmethod
    def _check_splitter(cls, name: str) -> str:
        try:
            check_splitter(name)
        except SettingsError as error:
            raise ValueError(str(error)) from error
        return name

    @field_validator("llm_url")
    @classmethod
    def _check_llm_url(cls, url: str | None) -> str | None:
        if url is None or re.fullmatch(r"(local|provider):\S.*", url):
            return url
        for address in url.split():
            if not _is_http(address):
                raise ValueError("write it as http://host:8000/v1, local:MODEL or provider:NAME")
        return url

    @field_validator("embed_url")
    @classmethod
    def _check_embed_url(cls, url: str | None) -> str | None:
        if url is not None and not _is_http(url):
            raise ValueError("write it as http://host:8000/v1")
        return url

    def _check_together(self) -> None:
        if self.database_replica_url is not None and self.database_url is None:
            raise SettingsError(
                f"{_named('database_replica_url')} is set but {_named('database_url')} is not: the"
                " embedded database has no standby; set the primary server's address, or take the"
                " standby's away."
            )
        # local: names its model itself, and a server is asked for its only one.
        if self.llm_model is None and (self.llm_url or "").startswith("provider:"):
            present, missing = "llm_url", "llm_model"
        elif self.llm_model is not None and self.llm_url is None:
            present, missing = "llm_model", "llm_url"
        else:
            present = missing = ""
        if missing:
            raise SettingsError(
                f"{_named(present)} is set but {_named(missing)} is not: set both or neither."
            )
        if self.embed_model.startswith(SERVED) and self.embed_url is None:
            raise SettingsError(
                f"{_named('embed_model')} = {self.embed_model} is a server's model, but"
                f" {_named('embed_url')} is not set: set it to the server's address."
            )
        overlap, size = self.chunk_overlap_tokens, self.chunk_tokens
        if overlap is not None and size is not None and overlap >= size:
            raise SettingsError(
                f"{_named('chunk_overlap_tokens')} = {overlap} must be less than"
                f" {_named('chunk_tokens')} = {size}: make it smaller."
            )


_noticed: set[str] = set()  # lines that this process has written already


def load_settings(cwd: Path | None = None) -> Settings:
    """Read ragkit.toml in `cwd` (default: the working folder) and RAGKIT_* variables, which win.

    A file that a RAGKIT_*_FILE variable names holds a secret: it counts as that variable. What the
    file decides of where data goes, what is run and who is let in is written to standard error,
    once. Raises SettingsError naming the file or variable, the key, the value and the remedy.
    """
    from ragkit.settings.sources import trace_settings  # which fills in the class above

    traced = trace_settings(cwd)
    if traced.notice and traced.notice not in _noticed:
        _noticed.add(traced.notice)
        sys.stderr.write(f"{traced.notice}\n")
    return traced.settings


def _named(name: str) -> str:
    """Name a setting by its variable and by its place in ragkit.toml: it may stand in either."""
    return f"{PREFIX}{name.upper()} ({written(name)})"


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError where it is no number
    except ValueError:
        return False
    # Programs disagree on where the host ends beside a backslash or white space.
    strange = re.search(r"[\s\\\x00-\x1f]", url)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and not strange
