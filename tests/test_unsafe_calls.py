"""No code runs data: ruff's rules, and a walk over the syntax trees where ruff has no rule.

A justified exception of a ruff rule is a `# noqa: Sxxx  reason` on its line; one of the walk is a
row of EXCEPTIONS.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.places import ROOT

PACKAGES = ("ragkit", "ingest", "serve", "eval", "tune")
FOLDERS = (*PACKAGES, "benchmarks", "examples", "environments")
BENCHMARKS_OUT = ROOT / "benchmarks/out"  # environments of named peers, which git ignores
# By file, the rule of the walk that does not hold there, and why.
EXCEPTIONS = {
    (
        "ingest/ragkit_ingest/executor/ray/parcels.py",
        "pickle",
    ): "Ray's own processes pack and unpack",
    **{
        (f"serve/ragkit_models/{name}.py", "trust_remote_code"): "off; an option of the user"
        for name in (
            "cli_quantize",
            "cli_serve_options",
            "quantize/quantize",
            "quantize/worker",
            "serve/vllm",
        )
    },
}

RUFF = {
    "import pickle\npickle.loads(data)": "S301",
    "import marshal\nmarshal.loads(data)": "S302",
    "eval(data)": "S307",
    "exec(data)": "S102",
    "import yaml\nyaml.load(data, Loader=yaml.UnsafeLoader)": "S506",
    "import subprocess\nsubprocess.run(data, shell=True)": "S602",
    "import os\nos.system(data)": "S605",
    "import os\nos.popen(data)": "S605",
    "import tempfile\ntempfile.mktemp()": "S306",
    "import httpx\nhttpx.get(data, verify=False)": "S501",
    "import ssl\nssl._create_unverified_context()": "S323",
    "import xml.etree.ElementTree as tree\ntree.fromstring(data)": "S314",
    "import hashlib\nhashlib.md5(data)": "S324",
    "import subprocess\nsubprocess.run(['tar', data])": "S607",
    "cursor.execute(f'SELECT * FROM {data}')": "S608",
    "from jinja2 import Environment\nEnvironment()": "S701",
}

WALK = {
    "import pickle": "pickle",
    "from pickle import loads": "pickle",
    "import joblib": "pickle",
    "import a, marshal as b": "pickle",
    "from shelve import open": "pickle",
    "__import__('dill')": "import by name",
    "torch.load(file)": "torch.load",
    "torch.load(file, weights_only=False)": "torch.load",
    "np.load(file, allow_pickle=True)": "allow_pickle",
    "AutoModel.from_pretrained(name, trust_remote_code=True)": "trust_remote_code",
    "AutoModel.from_pretrained(name, trust_remote_code=wanted)": "trust_remote_code",
    "options = {'trust_remote_code': True}": "trust_remote_code",
    "command = ['vllm', '--trust-remote-code']": "trust_remote_code",
    "subprocess.run('ls -l')": "command as text",
    "subprocess.Popen(f'ls {folder}')": "command as text",
    "subprocess.check_output('ls ' + folder)": "command as text",
    "asyncio.create_subprocess_shell(command)": "command as text",
    "subprocess.getoutput(command)": "command as text",
    "httpx.Client(verify=False)": "verify",
    "ssl.CERT_NONE": "verify",
    "yaml.unsafe_load(data)": "yaml",
    "yaml.full_load(data)": "yaml",
}
SAFE = """
import json
torch.load(file, weights_only=True)
np.load(file, allow_pickle=False)
AutoModel.from_pretrained(name, trust_remote_code=False)
subprocess.run([program, 'ls -l'], check=True)
yaml.safe_load(data)
httpx.Client(verify=True)
"""

_PICKLES = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
_STARTS = {"run", "Popen", "call", "check_call", "check_output"}
_SHELLS = {"create_subprocess_shell", "getoutput", "getstatusoutput"}


def unsafe(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Find what may run data, with its line and the name of its rule."""
    for node in ast.walk(tree):
        rules: Iterator[str] = iter(())
        if isinstance(node, ast.Import | ast.ImportFrom):
            rules = _imports(node)
        elif isinstance(node, ast.Call):
            rules = _calls(node)
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            keys = ((key.value, value) for key, value in pairs if isinstance(key, ast.Constant))
            rules = (rule for key, value in keys for rule in _options(key, value))
        elif isinstance(node, ast.Constant) and node.value == "--trust-remote-code":
            rules = iter(["trust_remote_code"])
        elif isinstance(node, ast.Attribute) and node.attr == "CERT_NONE":
            rules = iter(["verify"])
        for rule in rules:
            yield node.lineno, rule  # type: ignore[attr-defined]


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    if any(name.partition(".")[0] in _PICKLES for name in names):
        yield "pickle"


def _calls(node: ast.Call) -> Iterator[str]:
    name = ast.unparse(node.func)
    last = name.rpartition(".")[2]
    options = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    for option, value in options.items():
        yield from _options(option, value)
    if name == "__import__":
        yield "import by name"
    if name == "torch.load" and not _is(options.get("weights_only"), True):
        yield "torch.load"
    if name in {"yaml.unsafe_load", "yaml.full_load"}:
        yield "yaml"
    starts = name in {f"subprocess.{start}" for start in _STARTS}
    if last in _SHELLS or (starts and node.args and _is_text(node.args[0])):
        yield "command as text"


def _options(name: object, value: ast.expr) -> Iterator[str]:
    if name in {"allow_pickle", "trust_remote_code"} and not _is(value, False):
        yield str(name)
    if name == "verify" and _is(value, False):
        yield "verify"


def _is(value: ast.expr | None, constant: bool) -> bool:
    return isinstance(value, ast.Constant) and value.value is constant


def _is_text(value: ast.expr) -> bool:
    if isinstance(value, ast.BinOp):
        return _is_text(value.left) or _is_text(value.right)
    return isinstance(value, ast.JoinedStr) or (
        isinstance(value, ast.Constant) and isinstance(value.value, str)
    )


@cache
def all_files() -> tuple[Path, ...]:
    found = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
    return tuple(sorted(file for file in found if not file.is_relative_to(BENCHMARKS_OUT)))


def ruff(code: str, filename: str) -> set[str]:
    """Check code as if it stood in a file, by the project's own rules."""
    command = [sys.executable, "-m", "ruff", "check", "--output-format", "json"]
    done = subprocess.run(
        [*command, "--stdin-filename", filename, "-"],
        input=code,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.stderr == ""
    return {finding["code"] for finding in json.loads(done.stdout)}


@pytest.mark.parametrize(("code", "rule"), RUFF.items())
def test_ruff_refuses_it(code: str, rule: str) -> None:
    assert rule in ruff(f"{code}\n", "ragkit/planted.py")


@pytest.mark.parametrize("folder", PACKAGES)
def test_ruff_has_no_exception_for_a_package(folder: str) -> None:
    refused = ruff("\n".join(RUFF), f"{folder}/planted.py")
    assert set(RUFF.values()) - refused == set()


def test_an_exception_of_ruffs_rules_names_its_reason() -> None:
    bare = []
    for file in all_files():
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            _, _, rest = line.partition("# noqa: S")
            reason = rest.partition("  ")[2]
            if rest[:1].isdigit() and not rest.startswith("608") and not reason:
                bare.append(f"{file.relative_to(ROOT)}:{number}")
    assert bare == []


@pytest.mark.parametrize(("code", "rule"), WALK.items())
def test_the_walk_refuses_it(code: str, rule: str) -> None:
    assert {rule} == {name for _, name in unsafe(ast.parse(code))}


def test_the_walk_lets_safe_calls_pass() -> None:
    assert list(unsafe(ast.parse(SAFE))) == []


def test_no_code_runs_data() -> None:
    wrong, used = [], set()
    for file in all_files():
        name = str(file.relative_to(ROOT))
        for line, rule in unsafe(ast.parse(file.read_text("utf-8"))):
            if (name, rule) in EXCEPTIONS:
                used.add((name, rule))
            else:
                wrong.append(f"{name}:{line}: {rule}")
    assert len(all_files()) > 300
    assert wrong == []
    assert used == set(EXCEPTIONS)  # no exception outlives its reason
