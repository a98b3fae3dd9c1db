"""Every place in the source that makes a file or a folder makes it for its owner alone.

What commands really write is looked at by tests/test_private_files.py; this one reads the source,
so that a new place cannot be forgotten there.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.places import ROOT

PACKAGES: Final = (
    "ragkit",
    "ingest/ragkit_ingest",
    "serve/ragkit_serve",
    "serve/ragkit_models",
    "eval/ragkit_eval",
    "tune/ragkit_tune",
)
# What the call itself makes private: a file, by its opener or mode; a folder, by its mode.
NAMED_BY: Final = {"open": "opener", "mkdir": "mode", "touch": "mode"}
ALWAYS: Final = {
    *("write_text", "write_bytes", "makedirs", "chmod", "fchmod", "lchmod", "umask", "savefig"),
    *("copy", "copy2", "copyfile", "copytree", "mknod", "mkfifo"),
}
MODULES: Final = {"copy": "shutil", "copy2": "shutil"}  # others have methods of these names

# Calls that follow the umask or change a mode, and why they may. By file and function.
ALLOWED: Final = {
    ("eval/ragkit_eval/sandbox/inside.py", "_enter_namespaces"): "files of /proc",
    ("eval/ragkit_eval/sandbox/inside.py", "_build_root"): "folders of a file system that no other"
    " process sees",
    ("ingest/ragkit_ingest/parse/office/conversion.py", "converted"): "files in a folder of"
    " tempfile's, 0700",
    ("ingest/ragkit_ingest/parse/heic.py", "parse"): "a file in a folder of tempfile's, 0700",
    ("ingest/ragkit_ingest/parse/sevenzip.py", "members"): "a file in a folder of tempfile's, 0700",
    ("ragkit/cli/calibrate.py", "_draw"): "curves of scores: no text, no key",
    ("ragkit/system/priority.py", "_lower_session"): "a file of /proc",
    ("ragkit/store/server/programs.py", "copied"): "PostgreSQL's programs, for its account to run",
    (
        "ragkit/store/server/postmaster.py",
        "_initialise",
    ): "a line more in initdb's own private file",
    (
        "ragkit/store/server/postmaster.py",
        "_launch",
    ): "the log, made by `touch` with its mode before",
    ("serve/ragkit_serve/web/commands.py", "_bound"): "a socket made 0600, in a private folder",
    ("serve/ragkit_models/quantize/quantize.py", "_hidden_folder"): "a model, to be used by others",
    ("serve/ragkit_models/quantize/quantize.py", "_write_card"): "a model, to be used by others",
    ("serve/ragkit_models/quantize/source.py", "copy_other_files"): "a model, to be used by others",
    ("serve/ragkit_models/quantize/quantize.py", "_run_job"): "files in a folder of tempfile's,"
    " 0700",
    ("serve/ragkit_models/quantize/worker.py", "main"): "a file in a folder of tempfile's, 0700",
    ("serve/ragkit_models/quantize/source.py", "copy_legal_files"): "a model, to be used by others",
    ("serve/ragkit_models/quantize/gguf.py", "_run"): "files in a folder of tempfile's, 0700",
    ("serve/ragkit_models/quantize/gguf_worker.py", "main"): "a file in a folder of tempfile's,"
    " 0700",
    ("tune/ragkit_tune/adopt/toml_line.py", "_write"): "ragkit.toml, with the mode that it had",
    **{
        (f"tune/ragkit_tune/{name}.py", function): "a file in a run's folder, 0700"
        for name, function in (
            ("worker/checkpoints", "_save_checkpoint"),
            ("worker/checkpoints", "save_trainable"),
            ("worker/job", "write"),
            ("worker/language_model_write", "write_result"),
            ("worker/language_model_write", "_complete_adapter"),
            ("worker/reranker", "_save"),
            ("run/complete", "complete_embedder"),
        )
    },
    ("tune/ragkit_tune/plan/probe.py", "probe"): "a file in a folder of tempfile's, 0700",
    ("tune/ragkit_tune/worker/probe.py", "main"): "a file in a folder of tempfile's, 0700",
    ("tune/ragkit_tune/worker/probe.py", "_reset_peak"): "a file of /proc",
}


def _calls(tree: ast.AST, function: str = "") -> Iterator[tuple[str, ast.Call]]:
    """Yield each call with the name of the function that it stands in."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Call):
            yield function, child
        inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else ""
        yield from _calls(child, inner or function)


def _name(call: ast.Call) -> tuple[str, str]:
    """Return the module or object that is called on, where it is a plain name, and the function."""
    if isinstance(call.func, ast.Name):
        return "", call.func.id
    if isinstance(call.func, ast.Attribute):
        owner = call.func.value
        return owner.id if isinstance(owner, ast.Name) else "?", call.func.attr
    return "", ""


def _writes(call: ast.Call) -> bool:
    """Tell whether a call of `open`, in any of its forms, can make a file."""
    if call.args and isinstance(call.args[0], ast.Call) and _name(call.args[0]) == ("os", "open"):
        return False  # a descriptor, looked at as a call of its own
    given = call.args[1:] if isinstance(call.func, ast.Name) else call.args
    values = [*given, *(keyword.value for keyword in call.keywords)]
    modes = {value.value for value in values if isinstance(value, ast.Constant)}
    return any(
        isinstance(mode, str) and re.fullmatch("[wax][bt+]*|[r][bt]*[+][bt]*", mode)
        for mode in modes
    )


def _follows_umask(call: ast.Call) -> bool:
    owner, name = _name(call)
    if owner == "os" and name == "open":
        makes = any(
            isinstance(part, ast.Attribute) and part.attr == "O_CREAT"
            for argument in call.args
            for part in ast.walk(argument)
        )
        return makes and len(call.args) < 3
    if name in NAMED_BY:
        private = any(keyword.arg == NAMED_BY[name] for keyword in call.keywords)
        return not private and (name != "open" or _writes(call))
    return name in ALWAYS and MODULES.get(name, owner) == owner


def _found() -> list[tuple[str, str, int]]:
    places = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            file = str(path.relative_to(ROOT))
            for function, call in _calls(ast.parse(path.read_text(encoding="utf-8"))):
                if _follows_umask(call):
                    places.append((file, function, call.lineno))
    return places


def test_what_the_source_writes_is_private_unless_a_reason_stands_here() -> None:
    others = [place for place in _found() if place[:2] not in ALLOWED]
    assert others == [], "open(..., opener=private), make_private(...), or a reason in ALLOWED"


def test_no_reason_stands_for_what_is_gone() -> None:
    assert set(ALLOWED) - {place[:2] for place in _found()} == set()


@pytest.mark.parametrize(
    ("code", "follows"),
    [
        ("open('x', 'w')", True),
        ("path.open('ab')", True),
        ("open('x', 'w', opener=private)", False),
        ("open('x')", False),
        ("path.write_text('x')", True),
        ("path.mkdir(parents=True)", True),
        ("path.mkdir(mode=0o700)", False),
        ("path.touch()", True),
        ("path.chmod(0o644)", True),
        ("os.open('x', os.O_CREAT | os.O_WRONLY)", True),
        ("os.open('x', os.O_CREAT | os.O_WRONLY, 0o600)", False),
        ("os.open('x', os.O_RDONLY)", False),
        ("shutil.copyfile('a', 'b')", True),
    ],
)
def test_the_check_itself(code: str, follows: bool) -> None:
    ((_, call),) = [
        pair for pair in _calls(ast.parse(code)) if _name(pair[1])[1] not in {"", "private"}
    ]
    assert _follows_umask(call) == follows


def test_a_file_is_private_whatever_was_there_of_the_umask(tmp_path: Path) -> None:
    from ragkit.system.private_files import make_private

    (tmp_path / "there").mkdir(mode=0o755)
    (tmp_path / "there").chmod(0o755)
    make_private(tmp_path / "there" / "a" / "b")
    modes = [path.stat().st_mode & 0o777 for path in (tmp_path / "there", *tmp_path.glob("*/**/*"))]
    assert modes == [0o755, 0o700, 0o700]
