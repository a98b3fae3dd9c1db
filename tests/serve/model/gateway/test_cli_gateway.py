"""`ragkit model gateway` as a user runs it: what it writes, says and refuses."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from ragkit_serve.model.gateway import nginx
from ragkit_serve.stub import StubServer
from tests import commands
from tests.commands import Result
from tests.serve.model.gateway.test_nginx import body, free_port, poll

KEY = "sk-gateway-0123456789"
needs_nginx = pytest.mark.skipif(nginx.find_nginx() is None, reason="nginx is not installed")


Run = Callable[..., Result]


@pytest.fixture
def gateway(tmp_path: Path) -> Run:
    def run(*arguments: str, **more: str) -> Result:
        return commands.run("model", "gateway", *arguments, folder=tmp_path, environment=more)

    return run


@needs_nginx
def test_it_writes_a_configuration_that_nginx_accepts(tmp_path: Path, gateway: Run) -> None:
    done = gateway(
        "--backends", "http://10.0.0.5:8000", "http://10.0.0.6:8000", "--balance", "prefix",
        RAGKIT_LLM_API_KEY=KEY,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{tmp_path}/gateway/nginx.conf: written and checked by nginx" in done.stdout
    assert "export RAGKIT_LLM_URL=http://127.0.0.1:8080/v1" in done.stdout
    assert KEY not in done.stdout  # it is known already
    config = (tmp_path / "gateway/nginx.conf").read_text()
    assert "server 10.0.0.5:8000 " in config
    assert "server 10.0.0.6:8000 " in config
    assert "hash $prompt_prefix consistent;" in config
    assert (tmp_path / "gateway").stat().st_mode & 0o777 == 0o700
    assert gateway("--backends", "http://10.0.0.7", RAGKIT_LLM_API_KEY=KEY).returncode == 0
    assert "10.0.0.5" not in (tmp_path / "gateway/nginx.conf").read_text()


@needs_nginx
def test_a_key_is_made_for_clients_when_the_servers_have_another(
    tmp_path: Path, gateway: Run
) -> None:
    (tmp_path / "inner").write_text("inner-key-0123456789\n")
    done = gateway("--backends", "http://10.0.0.5:8000", "--backend-key-file", "inner")
    assert done.returncode == 0
    key = done.stdout.partition("export RAGKIT_LLM_API_KEY=")[2].split()[0]
    assert len(key) >= 43  # 256 bits
    assert "inner-key" not in done.stdout
    assert "inner-key-0123456789" in (tmp_path / "gateway/backends.conf").read_text()


def test_without_nginx_it_still_writes_and_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from typer.testing import CliRunner

    from ragkit.cli import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGKIT_LLM_API_KEY", KEY)
    monkeypatch.setattr(nginx, "find_nginx", lambda: None)
    asked = ["model", "gateway", "--backends", "http://10.0.0.5:8000"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0
    assert "written, not checked" in done.stdout
    assert "apt install nginx-light" in done.stderr
    assert (tmp_path / "gateway/nginx.conf").exists()
    assert CliRunner().invoke(app, [*asked, "--run"]).exit_code == 1


@needs_nginx
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_runs_until_interrupted(tmp_path: Path, number: signal.Signals) -> None:
    port = free_port()
    with StubServer(lambda messages: "Four.", api_key=KEY) as server:
        options = ["--backends", server.url, "--listen", f"127.0.0.1:{port}", "--run"]
        plain = {name: v for name, v in os.environ.items() if not name.startswith("RAGKIT_")}
        process = subprocess.Popen(
            [sys.executable, "-m", "ragkit", "model", "gateway", *options],
            cwd=tmp_path,
            env=plain | {"RAGKIT_LLM_API_KEY": KEY},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            assert poll(lambda: process.poll() is not None or _healthy(url))
            said = httpx.post(
                f"{url}/v1/chat/completions",
                json=body("hi"),
                headers={"Authorization": f"Bearer {KEY}"},
            )
            assert said.json()["choices"][0]["message"]["content"] == "Four."
        finally:
            process.send_signal(number)
            process.communicate(timeout=60)
    assert not _healthy(url)


def _healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").text == '{"status": "ok"}'
    except httpx.TransportError:
        return False


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--backends", "10.0.0.5:8000"], "is no address: write it as http://10.0.0.5:8000"),
        (["--backends", "http://a:1;}"], "is no address"),
        (["--backends", "http://a:1", "--listen", "8080"], "is no address: write it as 127.0.0.1"),
        (["--backends", "http://a:1", "http://a:1/v1"], "named twice"),
        (["--backends", "http://a:1", "--output", "a b"], "use a plain absolute path"),
    ],
)
def test_nonsense_is_one_line(gateway: Run, arguments: list[str], said: str) -> None:
    done = gateway(*arguments, RAGKIT_LLM_API_KEY=KEY)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_keys_that_cannot_be_used(
    gateway: Run,
) -> None:
    none = gateway("--backends", "http://a:1")
    assert (none.returncode, none.stdout) == (2, "")
    assert "the servers' key is not known" in none.stderr
    odd = gateway("--backends", "http://a:1", RAGKIT_LLM_API_KEY='secret" 1; default 1')
    assert odd.returncode == 2
    assert "choose another" in odd.stderr
    assert "secret" not in odd.stderr


@needs_nginx
def test_json(gateway: Run, tmp_path: Path) -> None:
    done = gateway("--backends", "http://10.0.0.5", "--json", RAGKIT_LLM_API_KEY=KEY)
    assert json.loads(done.stdout) == {
        "config": f"{tmp_path}/gateway/nginx.conf",
        "checked": True,
        "url": "http://127.0.0.1:8080/v1",
    }
