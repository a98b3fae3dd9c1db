"""Prometheus' configuration, the alerts and the dashboard name figures that ragkit has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ragkit_serve.api.metrics import Metrics
from tests.places import ROOT

FOLDER = ROOT / "deploy/observe"
PROMTOOL = shutil.which("promtool")
# What Prometheus makes itself.
OWN = {"up": {"job", "instance"}, "ALERTS": {"alertname", "alertstate"}}
# Labels whose values are a closed set.
VALUES = {
    ("ragkit_rejections_total", "reason"): {"quota", "overload", "draining"},
    ("ragkit_tokens_total", "kind"): {"prompt", "completion", "cached"},
    ("ragkit_jobs", "state"): {"queued", "running"},
    ("ragkit_stage_seconds_bucket", "stage"): {
        *("retrieve", "gate", "generate", "verify", "first_token"),
    },
    ("up", "job"): {"ragkit"},
    ("ALERTS", "alertstate"): {"firing"},
}


def read(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text("utf-8"))


def dashboard() -> Any:
    return json.loads((FOLDER / "grafana/ragkit.json").read_text("utf-8"))


RULES = read("alerts.yml")["groups"][0]["rules"]
EXPRESSIONS = {
    **{rule["alert"]: rule["expr"] for rule in RULES},
    **{
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in dashboard()["panels"]
        for target in panel["targets"]
    },
}


def exported() -> dict[str, set[str]]:
    """Ask the server's own registry for every name in the text format, with its labels."""
    found = {}
    for metric in Metrics().registry._collector_to_names:
        labels = set(metric._labelnames)  # type: ignore[attr-defined]
        for suffix in ("", "_total", "_bucket", "_sum", "_count"):
            name = metric._name + suffix  # type: ignore[attr-defined]
            kind = metric._type  # type: ignore[attr-defined]
            fits = {
                "counter": ("_total",),
                "gauge": ("",),
                "histogram": ("_bucket", "_sum", "_count"),
            }
            if suffix in fits[kind]:
                found[name] = labels | ({"le"} if suffix == "_bucket" else set())
    return found


def test_the_servers_figures_are_these() -> None:
    assert {
        name: labels for name, labels in exported().items() if not name.endswith(("_sum", "_count"))
    } == {
        "ragkit_requests_total": {"route", "method", "status"},
        "ragkit_request_seconds_bucket": {"route", "le"},
        "ragkit_stage_seconds_bucket": {"stage", "le"},
        "ragkit_in_flight": set(),
        "ragkit_waiting": set(),
        "ragkit_rejections_total": {"reason"},
        "ragkit_tokens_total": {"kind"},
        "ragkit_jobs": {"state"},
        "ragkit_process_up": {"process"},
    }


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expression_uses_what_there_is(name: str) -> None:
    expression = EXPRESSIONS[name]
    known = exported() | OWN
    used = re.findall(r"\b(ragkit_\w+|up|ALERTS)\b(?:\{([^}]*)\})?", expression)
    assert used
    for metric, selector in used:
        assert metric in known
        for label, value in re.findall(r'(\w+)=~?"([^"]*)"', selector):
            assert label in known[metric]
            assert value in VALUES.get((metric, label), {value})
    grouped = re.findall(r"\bby \(([^)]*)\)", expression)
    for label in {label.strip() for group in grouped for label in group.split(",")}:
        assert any(label in known[metric] for metric, _ in used)
    assert expression.count("(") == expression.count(")")
    # rate() of what only grows; a bucket is one such.
    for metric in re.findall(r"(?:rate|increase)\((\w+)", expression):
        assert metric.endswith(("_total", "_bucket"))


def test_rules_are_complete_and_explained_in_the_documentation() -> None:
    manual = (FOLDER.parents[1] / "docs/operations.md").read_text("utf-8")
    for rule in RULES:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+[mh]", rule["for"])
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["alert"] in manual
    assert len({rule["alert"] for rule in RULES}) == len(RULES) == 8


def test_prometheus_asks_serve_with_its_key() -> None:
    config = read("prometheus.yml")
    (job,) = config["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["serve:8080"]}]
    assert job["metrics_path"] == "/metrics"
    assert job["authorization"]["credentials_file"] == "/run/secrets/metrics_key"
    assert config["rule_files"] == ["/etc/prometheus/alerts.yml"]


def test_dashboard_panels_have_places_of_their_own_and_one_source() -> None:
    shown = dashboard()
    (source,) = read("grafana/datasource.yml")["datasources"]
    taken: set[tuple[int, int]] = set()
    for panel in shown["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert panel["title"]
        assert panel["description"]
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {source["uid"]}
    ids = [panel["id"] for panel in shown["panels"]]
    assert len(set(ids)) == len(ids) == 15
    (provider,) = read("grafana/provider.yml")["providers"]
    compose = (FOLDER.parents[1] / "docker-compose.yml").read_text("utf-8")
    assert f"{provider['options']['path']}/ragkit.json:ro" in compose


@pytest.mark.skipif(PROMTOOL is None, reason="promtool (Debian: prometheus) is not installed")
def test_prometheus_own_check_passes(tmp_path: Path) -> None:
    rules = tmp_path / "alerts.yml"
    others = {**EXPRESSIONS}
    asked = [{"record": f"dashboard:{n}", "expr": expr} for n, expr in enumerate(others.values())]
    groups = read("alerts.yml")["groups"]
    rules.write_text(yaml.safe_dump({"groups": [*groups, {"name": "dashboard", "rules": asked}]}))
    (tmp_path / "key").write_text("k")
    config = (FOLDER / "prometheus.yml").read_text("utf-8")
    config = config.replace("/etc/prometheus/alerts.yml", str(rules))
    config = config.replace("/run/secrets/metrics_key", str(tmp_path / "key"))
    (tmp_path / "prometheus.yml").write_text(config)
    done = subprocess.run(
        [str(PROMTOOL), "check", "config", str(tmp_path / "prometheus.yml")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
