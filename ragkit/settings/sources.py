"""Where settings come from: ragkit.toml, RAGKIT_* variables, which win, and files with secrets.

A secret's variable may name a file in its place: RAGKIT_LLM_API_KEY_FILE for RAGKIT_LLM_API_KEY.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import SecretStr, ValidationError
from pydantic_settings import EnvSettingsSource

from ragkit.errors import SettingsError
from ragkit.settings.problems import PREFIX, explained, short_path
from ragkit.settings.settings import Settings
from ragkit.settings.tables import names_of, place
from ragkit.settings.trust import REACHING, check_trust, notice

FILE: Final = "ragkit.toml"
MAX_FILE_BYTES: Final = 1 << 20  # arbitrary, far above what settings need
EVAL_DATA: Final = "RAGKIT_EVAL_DATA"  # read by `ragkit eval`'s commands alone

_PATHS: Final = frozenset({"home", "prompts", "vllm_python", "llamacpp_python", "tune_python"})


@dataclass(frozen=True, slots=True)
class TracedSettings:
    """Settings, each one's origin ("default", "ragkit.toml" or a variable), and stray variables.

    `unknown` maps an unknown RAGKIT_* variable to the closest known one, or "". `notice` lists in
    one line what ragkit.toml decides about where data goes, what is run and who has access, or "".
    """

    settings: Settings
    origins: Mapping[str, str]
    unknown: Mapping[str, str]
    notice: str = ""


def trace_settings(cwd: Path | None = None) -> TracedSettings:
    """Load the settings as `load_settings` does, with the origin of each value."""
    folder = Path.cwd() if cwd is None else cwd.absolute()
    in_file, written = _read_file(folder / FILE)
    variables = EnvSettingsSource(Settings)()
    origins = dict.fromkeys(Settings.model_fields, "default")
    origins |= dict.fromkeys(in_file, FILE)
    origins |= {name: PREFIX + name.upper() for name in variables}
    in_secret_files = _read_secret_files(folder, variables)
    origins |= {name: _file_variable(name) for name in in_secret_files}
    reaching = [name for name in in_file if name in REACHING and origins[name] == FILE]
    if written is not None and reaching:
        check_trust(folder / FILE, written, reaching, in_file[reaching[0]])
    values = {**in_file, **variables, **in_secret_files}
    for name in _PATHS & values.keys():
        if isinstance(values[name], str):
            values[name] = folder / os.path.expanduser(values[name])
    try:
        settings = Settings(**values)
    except SettingsError as error:
        if isinstance(error.__cause__, ValidationError):
            wrong = error.__cause__
            text = explained(wrong, Settings.model_fields, values, origins)
            raise SettingsError(text) from wrong
        raise
    decided = notice(folder / FILE, [(name, in_file[name]) for name in reaching])
    return TracedSettings(settings, origins, _unknown_variables(), decided)


def _unknown_variables() -> Mapping[str, str]:
    """Return RAGKIT_* variables that set nothing, each with the closest known name."""
    names = [name.upper() for name in Settings.model_fields]
    placed = {"_".join(place(name)).upper(): name.upper() for name in Settings.model_fields}
    names += [_file_variable(name).removeprefix(PREFIX) for name in secrets()]
    names.append(EVAL_DATA.removeprefix(PREFIX))
    unknown = {}
    for variable in sorted(os.environ):
        name = variable.upper().removeprefix(PREFIX)  # case does not matter here
        if name != variable.upper() and name not in names:
            # RAGKIT_SEARCH_TOP_K, say, for what stands in [search].
            exact = [placed[name]] if name in placed else []
            close = exact or get_close_matches(name, names, n=1, cutoff=0.75)
            unknown[variable] = PREFIX + close[0] if close else ""
    return unknown


def secrets() -> list[str]:
    """Name the settings that hold passwords and keys."""
    fields = Settings.model_fields.items()
    return [name for name, field in fields if SecretStr in get_args(field.annotation)]


def _file_variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}_FILE"


def _read_secret_files(folder: Path, variables: Mapping[str, object]) -> dict[str, str]:
    """Read the secrets whose variables name files, whoever else may read those files.

    Container engines mount secrets readable by all inside; systemd's are its service's alone.
    """
    environment = {variable.upper(): value for variable, value in os.environ.items()}
    secrets_read = {}
    for name in secrets():
        variable = _file_variable(name)
        path = environment.get(variable, "").strip()
        if not path:
            continue
        if name in variables:
            raise SettingsError(
                f"{PREFIX}{name.upper()} and {variable} are both set: take one of them away."
            )
        secrets_read[name] = _read_secret(variable, folder / os.path.expanduser(path))
    return secrets_read


def _read_secret(variable: str, path: Path) -> str:
    path_text = short_path(str(path))
    try:
        secret = path.read_bytes().decode("utf-8-sig").strip()
    except OSError as error:
        raise SettingsError(
            f"{variable} = {path_text} cannot be read: {error.strerror}. Make it readable, or name"
            " another file."
        ) from error
    except UnicodeDecodeError:
        # The cause would quote what stands in the file.
        raise SettingsError(f"{variable} = {path_text} is not UTF-8: save it as UTF-8.") from None
    except ValueError as error:  # a NUL in the path
        raise SettingsError(f"{variable} = {path_text} is no path: {error}. Correct it.") from error
    if not secret:
        raise SettingsError(f"{variable} = {path_text} is empty: write the secret into it.")
    return secret


def _without_waiting(path: str, flags: int) -> int:
    """Open a path at once; opening a pipe would wait for somebody to write."""
    return os.open(path, flags | os.O_NONBLOCK)


def _read_file(path: Path) -> tuple[dict[str, Any], os.stat_result | None]:
    """Return a file's settings and its status; nothing where there is no file."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            written = os.fstat(file.fileno())
            if not stat.S_ISREG(written.st_mode) or written.st_size > MAX_FILE_BYTES:
                raise SettingsError(
                    f"{path} is no file of at most {MAX_FILE_BYTES >> 10} kB: remove it, or run"
                    " ragkit in another folder."
                )
            text = file.read(MAX_FILE_BYTES).decode("utf-8-sig")  # Windows editors write a mark
        return names_of(tomllib.loads(text), FILE), written
    except FileNotFoundError:
        return {}, None
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read: {error.strerror}. Make it readable, or remove it."
        ) from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8: save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}. Correct that line.") from error
