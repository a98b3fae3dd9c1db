"""Which settings may stand in the working folder's file only if the folder is the user's.

A folder may belong to a stranger. Settings that send data elsewhere, run programs or grant access
are accepted only from files that nobody but the user or root can have written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ragkit.errors import SettingsError
from ragkit.settings.problems import PREFIX, short, short_path
from ragkit.settings.secrets import masked
from ragkit.settings.tables import written as in_file

_SENDS: Final = "decides where data goes"
_RUNS: Final = "decides what is run or loaded"
_ADMITS: Final = "decides who is let in"
REACHING: Final = {
    **dict.fromkeys(("database_url", "database_owner_url", "database_replica_url"), _SENDS),
    **dict.fromkeys(("llm_url", "llm_api_key", "reranker", "reranker_api_key"), _SENDS),
    **dict.fromkeys(("embed_url", "embed_api_key", "web"), _SENDS),
    # The embedded database's own configuration can name programs and libraries.
    "home": _RUNS,
    **dict.fromkeys(("vllm_python", "llamacpp_python", "tune_python"), _RUNS),
    **dict.fromkeys(("embed_model", "nli_model", "prompts"), _RUNS),
    **dict.fromkeys(("llm_tokenizer", "embed_tokenizer"), _RUNS),
    **dict.fromkeys(("key", "tenants", "serve_host", "serve_auth"), _ADMITS),
    **dict.fromkeys(("serve_hosts", "serve_origins", "serve_audit"), _ADMITS),
    **dict.fromkeys(("oidc_issuer", "oidc_client_id", "oidc_client_secret"), _ADMITS),
    **dict.fromkeys(("oidc_principal_claim", "oidc_scopes", "oidc_groups_claim"), _ADMITS),
}
# The others choose among the user's own documents, or change how texts are read, found and shown.
HARMLESS: Final = frozenset(
    "database_pooler llm_model llm_timeout_s llm_total_timeout_s llm_context_tokens"
    " llm_budget_tokens llm_temperature llm_max_tokens llm_seed embed_device embed_dimension"
    " embed_context_tokens"
    " tenant principal collection history_tokens serve_port serve_workers serve_concurrency"
    " serve_key_concurrency serve_key_rate serve_max_upload_mb serve_grace_s serve_keep_days"
    " splitter chunk_tokens chunk_overlap_tokens chunk_header long_chunks unicode mask"
    " boilerplate near_duplicates comments revisions ocr pdf_layout top_k vector_type"
    " vector_index stem cjk keep_versions reranker_model"
    " rerank_candidates max_per_document diversity expand queries infer_filters"
    " parse_memory_mb parse_cpu_s parse_wall_s parse_unzipped_mb parse_text_mchars"
    " max_file_mb jobs".split()
)


def check_trust(file: Path, written: os.stat_result, names: Iterable[str], value: object) -> None:
    """Raise SettingsError where `names`, with the first one's value, may not come from a file.

    `written` is the status of the file when it was read.
    """
    name = next(iter(names), None)
    if name is None:
        return
    for place, status in ((file, written), (file.parent, file.parent.stat())):
        if fault := _fault(place, status):
            raise SettingsError(
                f"{short_path(str(file))}: {in_file(name)} = {short(masked(name, value))}"
                f" {REACHING[name]}, but {fault}, or set {PREFIX}{name.upper()} instead."
            )


def notice(file: Path, values: Iterable[tuple[str, object]]) -> str:
    """Return the line that lists what a file decides, or ""."""
    assignments = ", ".join(
        f"{in_file(name)} = {short(masked(name, value))}" for name, value in values
    )
    return " ".join(f"ragkit: {file} sets {assignments}".split()) if assignments else ""


def _fault(place: Path, status: os.stat_result) -> str:
    """Return who else could have written a file or folder, with the remedy, or ""."""
    path_text = short_path(str(place))
    if status.st_uid not in {0, os.geteuid()}:
        return f"{path_text} belongs to user {status.st_uid}: make it your own if you trust it"
    if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return ""  # as /tmp: nobody takes the place of another one's file
    if status.st_mode & stat.S_IWOTH or (
        status.st_mode & stat.S_IWGRP and not _is_alone_in(status.st_gid)
    ):
        return f"others may write to {path_text}: run `chmod go-w` on it if you trust it"
    return ""


def _is_alone_in(gid: int) -> bool:
    """Tell whether a group is the user's private one, which many systems make."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
