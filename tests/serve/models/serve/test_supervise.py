"""A server's life, with a program in vLLM's place that misbehaves in each of the known ways."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragkit.errors import ModelError, ModelServerError, UsageError
from ragkit_models.serve.address import require_free_path
from ragkit_models.serve.options import Launch
from ragkit_models.serve.supervise import Restarts, supervise
from tests.places import ROOT
from tests.serve.models.serve.conftest import Fake, crash, interrupt, is_running, wait_until

QUICK = Restarts(limit=3, first_s=0.01)


def run(fake: Fake, launch: Launch, *, grace_s: float = 60, timeout_s: float = 60) -> None:
    supervise(launch, fake.watch, start_timeout_s=timeout_s, grace_s=grace_s, restarts=QUICK)


@pytest.mark.parametrize("socket", [False, True])
def test_it_waits_until_the_server_is_ready_and_ends_it_when_interrupted(
    fake: Fake, socket: bool
) -> None:
    fake.on_ready = [interrupt]
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(fake, fake.launch("slow", socket=socket))
    assert time.monotonic() - started > 0.6
    assert fake.told == ["ready", "stopping"]
    assert not is_running(fake.pids()[0][0])


def test_running_answers_get_their_grace(fake: Fake) -> None:
    fake.on_ready = [interrupt]
    with pytest.raises(KeyboardInterrupt):
        run(fake, fake.launch("drain"))
    assert fake.lines[-1] == "drained"


def test_what_ignores_the_signal_is_killed_with_its_children(fake: Fake) -> None:
    fake.on_ready = [interrupt]
    with pytest.raises(KeyboardInterrupt):
        run(fake, fake.launch("stubborn child"), grace_s=0.2)
    server, child = fake.pids()[0]
    assert not is_running(server)
    wait_until(lambda: not is_running(child))


def test_children_that_outlive_a_server_are_killed(fake: Fake) -> None:
    fake.on_ready = [interrupt]
    with pytest.raises(KeyboardInterrupt):
        run(fake, fake.launch("child"))
    wait_until(lambda: not is_running(fake.pids()[0][1]))


@pytest.mark.parametrize("socket", [False, True])
def test_after_a_crash_it_is_started_again_at_the_same_address(fake: Fake, socket: bool) -> None:
    launch = fake.launch(socket=socket)
    fake.on_ready = [crash(launch), interrupt]
    with pytest.raises(KeyboardInterrupt):
        run(fake, launch)
    assert [line.split(":")[0] for line in fake.told] == [
        "ready",
        "fake ended with code 3",
        "ready",
        "stopping",
    ]
    assert len(fake.pids()) == 2


def test_a_restart_that_fails_is_tried_again(fake: Fake) -> None:
    launch = fake.launch("fail-second")
    fake.on_ready = [crash(launch), interrupt]
    with pytest.raises(KeyboardInterrupt):
        run(fake, launch)
    assert len(fake.pids()) == 3
    assert "fake ended with code 1: there is not enough memory" in fake.told[2]


def test_what_crashes_too_often_is_given_up(fake: Fake) -> None:
    launch = fake.launch()
    fake.on_ready = [crash(launch)] * 4
    with pytest.raises(ModelServerError, match=r"ended 4 times in a row, .* code 3"):
        run(fake, launch)
    assert len(fake.pids()) == 4


def test_the_pause_doubles_up_to_a_limit() -> None:
    rule = Restarts(first_s=1, longest_s=10)
    assert [rule.pause_s(again) for again in range(6)] == [1, 2, 4, 8, 10, 10]


def test_what_never_was_ready_is_not_started_again_and_the_reason_is_told(fake: Fake) -> None:
    with pytest.raises(ModelServerError) as caught:
        run(fake, fake.launch("fail"))
    assert str(caught.value).startswith(
        "the model server did not start: fake ended with code 1: there is not enough memory"
    )
    assert len(fake.pids()) == 1


def test_what_takes_too_long_is_ended(fake: Fake) -> None:
    with pytest.raises(ModelServerError, match="not ready after 1 s"):
        run(fake, fake.launch("never child"), timeout_s=1)
    wait_until(lambda: not any(is_running(pid) for pid in fake.pids()[0]))


def test_a_program_that_is_not_there(fake: Fake) -> None:
    launch = Launch("fake", ("/nowhere/python",), {}, "http://127.0.0.1:1/v1", "/health", "k")
    with pytest.raises(ModelError, match="/nowhere/python cannot be started: No such file"):
        run(fake, launch)


def test_the_log_holds_no_secret_and_no_control_character(fake: Fake) -> None:
    fake.on_ready = [interrupt]
    with pytest.raises(KeyboardInterrupt):
        run(fake, fake.launch("talk"))
    assert fake.lines[:4] == [
        "args: *** ***",
        "red \ufffdbell  10%",
        " 100%",
        "Loading safetensors checkpoint shards",
    ]


def test_nothing_is_left_when_ragkit_itself_is_killed(fake: Fake) -> None:
    launch = fake.launch()
    code = f"""
import sys
from ragkit_models.serve.options import Launch
from ragkit_models.serve.supervise import Watch, supervise
watch = Watch(line=print, ready=lambda: print("ready", flush=True), restart=print, stopping=print)
launch = Launch("fake", {launch.argv!r}, {dict(launch.environment)!r}, {launch.base_url!r},
                "/health", {launch.key!r})
supervise(launch, watch, start_timeout_s=20, grace_s=5)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as ragkit:
        assert ragkit.stdout is not None
        assert ragkit.stdout.readline() == "ready\n"
        server = fake.pids()[0][0]
        os.kill(ragkit.pid, signal.SIGKILL)
        wait_until(lambda: not is_running(server))


def test_a_socket_is_refused_where_something_else_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(UsageError, match="exists and is no socket"):
        require_free_path(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "precious"
    with pytest.raises(UsageError, match="there is no folder"):
        require_free_path(tmp_path / "no" / "s.sock")
    with pytest.raises(UsageError, match="at most 107 bytes"):
        require_free_path(tmp_path / ("x" * 108))


def test_a_socket_that_another_server_listens_at_is_refused(fake: Fake) -> None:
    launch = fake.launch(socket=True)
    path = launch.unix_socket
    assert path is not None

    def look() -> None:
        with pytest.raises(UsageError, match="another server listens"):
            require_free_path(path)
        raise KeyboardInterrupt

    fake.on_ready = [look]
    with pytest.raises(KeyboardInterrupt):
        run(fake, launch)
