"""What a run's header says of tasks, versions and machine."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragkit import __version__
from ragkit_eval.run import machine, make_header
from tests.eval.run.fake import FakeTask, items


@dataclass(frozen=True)
class Signed(FakeTask):
    """A task that tells its metrics' signatures."""

    @property
    def metrics(self) -> dict[str, str]:
        return {"acc": "acc|by:hand|v:1"}


def test_a_task_is_described_by_hashes_and_signatures() -> None:
    plain = make_header([FakeTask(items(3))], {"name": "tiny"}, {}, 0).tasks[0]
    assert (plain.name, plain.method, plain.metric, plain.items) == ("fake", "letter", "acc", 3)
    assert plain.data_hash == "0123456789abcdef"
    assert plain.metrics == {"acc": "acc|task:fake|v:1"}
    signed = make_header([Signed(items(4))], {"name": "tiny"}, {}, 0).tasks[0]
    assert signed.metrics == {"acc": "acc|by:hand|v:1"}
    assert signed.prompt_hash != plain.prompt_hash


def test_what_is_not_known_is_left_out() -> None:
    told = {"name": "tiny", "revision": "", "root": None, "max_model_len": 4096}
    header = make_header([FakeTask(items(1))], told, {"chat": None}, 7, label="x")
    assert header.model == {"name": "tiny", "max_model_len": 4096}
    assert header.sampling == {"seed": 7, "tasks": {"fake": {"max_tokens": 1, "stop": ()}}}
    assert header.name == "x"
    assert header.created.endswith("+00:00")


def test_versions_and_hardware_are_told() -> None:
    told = make_header([FakeTask(items(1))], {"name": "tiny"}, {}, 0).environment
    assert told["ragkit"] == __version__
    assert {"python", "aiohttp", "platform", "cpu", "cores", "memory_gib"} <= told.keys()
    assert told["cores"] >= 1
    assert told["memory_gib"] > 0


def test_the_commit_is_that_of_ragkits_own_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "ragkit" / "__init__.py"
    package.parent.mkdir()
    package.write_text("")
    monkeypatch.setattr("ragkit.__file__", str(package))
    assert machine.commit() == ""  # no checkout
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    assert machine.commit() == ""  # a checkout, but not of ragkit
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    sha = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    assert machine.commit() == sha
    package.write_text("changed")
    assert machine.commit() == f"{sha}+changes"
