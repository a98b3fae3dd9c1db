"""docker-compose.yml: by the compose specification's schema, and by what ragkit promises of it.

The schema is check-jsonschema's copy of the specification's. No container engine is asked.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from jsonschema.validators import validator_for

from ragkit.cli.main import app
from ragkit.settings.settings import Settings, load_settings
from ragkit.settings.sources import trace_settings
from tests.places import ROOT

# Known to Docker Compose, and newer than some copies of the schema: none at present.
NEWER_KEYS: frozenset[str] = frozenset()
RAGKIT_SERVICES = ["serve", "worker"]


def filled(value: Any, given: dict[str, str]) -> Any:
    """Fill in ${NAME:-default} as Compose does: in values, after parsing."""
    if isinstance(value, dict):
        return {key: filled(item, given) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, given) for item in value]
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda m: given.get(m[1]) or str(m[2]), value)
    return value


def compose(given: dict[str, str] | None = None) -> dict[str, Any]:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    found = filled(yaml.safe_load(text), given or {})
    assert isinstance(found, dict)
    return found


COMPOSE = compose()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
each_service = pytest.mark.parametrize("name", SERVICES)


def test_the_services_are_these() -> None:
    profiles = {name: service.get("profiles", []) for name, service in SERVICES.items()}
    assert profiles == {
        "nginx": [],
        "serve": [],
        "worker": [],
        "postgres": [],
        "vllm": ["gpu"],
        "vllm-cpu": ["cpu"],
        "prometheus": ["observe"],
        "grafana": ["observe"],
    }


def test_compose_specification_allows_it() -> None:
    spec = find_spec("check_jsonschema")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("check-jsonschema, which carries the compose specification's schema")
    package = Path(spec.submodule_search_locations[0])
    schema = json.loads((package / "builtin_schemas/vendor/compose-spec.json").read_text("utf-8"))
    checked = compose()
    for service in checked["services"].values():
        for key in NEWER_KEYS & service.keys():
            del service[key]
    faults = [f"{error.json_path}: {error.message}" for error in _faults(schema, checked)]
    assert faults == []
    checked["services"]["serve"]["memory_limit"] = "4g"  # the check can fail
    assert any("memory_limit" in error.message for error in _faults(schema, checked))


def _faults(schema: dict[str, Any], value: Any) -> list[Any]:
    return list(validator_for(schema)(schema).iter_errors(value))


def test_there_is_no_version_and_every_variable_has_a_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    assert "version" not in COMPOSE
    assert re.findall(r"\$\{(?!\w+:-[^}]*\})[^}]*", text) == []
    assert re.findall(r"\$(?!\{)", text) == []


@each_service
def test_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert re.fullmatch(r"[1-9]\d*:\d+", service["user"])
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "unless-stopped"
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
    assert service["pids_limit"] > 0
    assert service["logging"]["options"]["max-size"]
    for key in ("privileged", "cap_add", "network_mode", "pid", "ipc", "devices", "env_file"):
        assert key not in service


@each_service
def test_service_has_a_health_check(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] == "CMD"
    assert {"interval", "timeout", "retries"} <= check.keys()


@each_service
def test_image_is_pinned(name: str) -> None:
    service = SERVICES[name]
    image, _, tag = service["image"].rpartition(":")
    if "build" in service:
        assert tag == "local"
        assert (ROOT / service["build"]["dockerfile"]).is_file()
    else:
        assert re.search(r"\d+\.\d+\.\d+", tag), f"{image}: {tag}"


def test_only_nginx_publishes_ports_and_to_this_machine_alone() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["nginx"]
    assert SERVICES["nginx"]["ports"] == [
        "127.0.0.1:80:8080",
        "127.0.0.1:443:8443",
        "127.0.0.1:3000:3000",
    ]
    outside = compose({"RAGKIT_BIND": "0.0.0.0"})["services"]["nginx"]["ports"]
    assert outside[1:] == ["0.0.0.0:443:8443", "127.0.0.1:3000:3000"]


def test_nothing_but_serve_shares_the_model_servers_network() -> None:
    def on(network: str) -> set[str]:
        return {name for name, service in SERVICES.items() if network in service["networks"]}

    assert on("model") == {"serve", "vllm", "vllm-cpu"}
    assert SERVICES["vllm"]["networks"] == {"model": {"aliases": ["vllm"]}}
    assert on("data") == {"postgres", "serve", "worker"}
    assert on("outside") == {"nginx", "serve"}
    assert on("watch") == {"serve", "prometheus", "grafana"}
    assert on("dashboards") == {"nginx", "grafana"}
    networks = COMPOSE["networks"]
    assert {name for name, network in networks.items() if not network} == {"outside"}
    assert all(network == {"internal": True} for network in networks.values() if network)


def test_every_secret_is_declared_used_and_kept_out_of_the_repository() -> None:
    used = {secret for service in SERVICES.values() for secret in service.get("secrets", [])}
    assert used == set(COMPOSE["secrets"])
    for name, secret in COMPOSE["secrets"].items():
        assert re.fullmatch(rf"\./deploy/secrets/{name}\.(txt|pem)", secret["file"])
    assert "secrets/" in (ROOT / "deploy/.gitignore").read_text("utf-8").splitlines()


@each_service
def test_secrets_that_a_service_reads_are_its_own(name: str) -> None:
    service = SERVICES[name]
    text = json.dumps(service)
    for volume in service.get("volumes", []):
        source = ROOT / volume.split(":")[0]
        if volume.startswith("./deploy") and source.is_file():
            text += source.read_text("utf-8")
    read = set(re.findall(r"/run/secrets/(\w+)", text))
    assert read == set(service.get("secrets", []))


def test_volumes_are_named_and_files_are_mounted_read_only() -> None:
    named = set()
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source, _, mode = [*volume.split(":"), "rw"][:3]
            if source.startswith("."):
                assert mode == "ro"
                assert source.startswith("./models") or (ROOT / source).exists()
            else:
                named.add(source)
    assert named == set(COMPOSE["volumes"])


@pytest.mark.parametrize("name", RAGKIT_SERVICES)
def test_commands_are_ragkits_own(name: str) -> None:
    for command in (SERVICES[name]["command"], SERVICES[name]["healthcheck"]["test"][1:]):
        if command[0] == "ragkit":
            parse(command[1:])


def parse(arguments: list[str]) -> None:
    """Have ragkit's own command line read these arguments, without running anything."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("ragkit", list(arguments), resilient_parsing=False)
    while hasattr(command, "resolve_command"):
        rest = [*context._protected_args, *context.args]
        found, command, rest = command.resolve_command(context, rest)
        assert command is not None, f"there is no command {found}"
        context = command.make_context(found, rest, parent=context)


def test_a_command_that_there_is_not_would_be_seen() -> None:
    for wrong in (["worker", "--no-such"], ["nonsense"], ["serve", "--port", "many"]):
        with pytest.raises(Exception, match=r"(?i)no such|valid integer"):
            parse(wrong)


@pytest.fixture
def secrets_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run" / "secrets"
    folder.mkdir(parents=True)
    (folder / "database_url").write_text("postgresql://ragkit:p@postgres:5432/ragkit")
    (folder / "llm_api_key").write_text("0123456789abcdef")
    return folder


@pytest.mark.parametrize("name", RAGKIT_SERVICES)
def test_environment_is_made_of_settings(
    name: str, tmp_path: Path, secrets_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in [variable for variable in os.environ if variable.startswith("RAGKIT_")]:
        monkeypatch.delenv(variable)
    environment = SERVICES[name]["environment"]
    dockerfile = (ROOT / "deploy/ragkit.Dockerfile").read_text("utf-8")
    for variable, value in environment.items():
        here = value.replace("/run/secrets", str(secrets_folder))
        monkeypatch.setenv(variable, here)
    assert set(re.findall(r"\b(RAGKIT_\w+)=", dockerfile)) == {"RAGKIT_HOME"}
    traced = trace_settings(tmp_path)
    assert traced.unknown == {}
    settings = traced.settings
    assert settings.database_url is not None
    assert "@postgres:5432/" in settings.database_url.get_secret_value()
    if name == "serve":
        assert settings.serve_auth == "keys"
        assert settings.serve_hosts == "localhost serve"
        assert settings.llm_url is None
        assert settings.llm_api_key is not None


def test_times_and_sizes_fit_together() -> None:
    serve, worker = SERVICES["serve"], SERVICES["worker"]
    assert int(serve["stop_grace_period"].rstrip("s")) > Settings().serve_grace_s
    upload_mb = int(serve["environment"]["RAGKIT_SERVE_MAX_UPLOAD_MB"])
    assert upload_mb == Settings().serve_max_upload_mb
    # A multipart upload has some lines around its file.
    assert int(SERVICES["nginx"]["environment"]["RAGKIT_MAX_BODY_MB"]) > upload_mb
    parsers_mb = int(worker["environment"]["RAGKIT_JOBS"]) * Settings().parse_memory_mb
    assert int(worker["mem_limit"].rstrip("g")) * 1024 >= parsers_mb + 1024
    template = (ROOT / "deploy/nginx/nginx.conf.template").read_text("utf-8")
    silence = re.search(r"proxy_read_timeout (\d+)s", template)
    assert silence is not None
    assert int(silence[1]) > Settings().llm_total_timeout_s


def test_example_of_env_names_only_what_the_compose_file_reads_with_its_defaults() -> None:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    defaults = dict(re.findall(r"\$\{(\w+):-([^}]*)\}", text))
    example = re.findall(
        r"^#?([A-Z_]+)=(.*)$", (ROOT / "deploy/env.example").read_text("utf-8"), re.MULTILINE
    )
    # Compose's own, and the address of the profile's vLLM.
    chosen = {"COMPOSE_PROFILES", "RAGKIT_LLM_URL", "RAGKIT_LLM_MODEL"}
    assert {name: value for name, value in example if name not in chosen} == {
        name: value
        for name, value in defaults.items()
        if name in dict(example) and name not in chosen
    }


def test_settings_for_vllm_reach_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"RAGKIT_LLM_URL": "http://vllm:8000/v1", "RAGKIT_LLM_MODEL": "m"}
    services = compose(given)["services"]
    for variable in given:
        monkeypatch.setenv(variable, services["serve"]["environment"][variable])
    assert load_settings(tmp_path).llm_url == "http://vllm:8000/v1"
    for name in ("vllm", "vllm-cpu"):
        assert "vllm" in services[name]["networks"]["model"]["aliases"]
        assert "--served-model-name=m" in services[name]["command"]
        assert "--port=8000" in services[name]["command"]
        assert not [word for word in services[name]["command"] if "key" in word]
    assert shlex.split((ROOT / "deploy/vllm.sh").read_text("utf-8"), comments=True)[-1] == "$@"
