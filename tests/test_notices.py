"""Third-party notices and the bill of materials: complete, up to date, with permitted licences."""

from __future__ import annotations

import importlib
import json
import subprocess
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT


@pytest.fixture
def notices(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "environments")
    return importlib.import_module("notices")


class Package:
    """A package whose metadata a test makes up."""

    def __init__(self, name: str, *fields: tuple[str, str]) -> None:
        self.name = name
        self.metadata = Message()
        for key, value in fields:
            self.metadata[key] = value


def test_the_notices_are_those_of_the_installed_packages(notices: Any) -> None:
    assert (ROOT / "THIRD_PARTY_NOTICES.md").read_text("utf-8") == notices.notices()


def test_the_notices_name_every_package_of_a_release(notices: Any) -> None:
    text = (ROOT / "THIRD_PARTY_NOTICES.md").read_text("utf-8")
    lines = notices.project_requirements("otel", "parquet", "code")
    needed = notices.closure(lines, notices.here())
    assert len(needed) > 150
    assert [name for name in needed if f"| {name} | {notices.pins()[name]} | " not in text] == []


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 AND MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", False),
        ("GPL-3.0-only", False),
        ("MIT AND AGPL-3.0-only", False),
        ("SSPL-1.0", False),
        ("", False),
    ],
)
def test_which_expressions_are_permitted(notices: Any, expression: str, allowed: bool) -> None:
    assert notices.permitted(expression) is allowed


@pytest.mark.parametrize(
    "fields",
    [
        [("License-Expression", "AGPL-3.0-only")],
        [("License-Expression", "AGPL-3.0-only"), ("License", "MIT")],
        [("Classifier", "License :: OSI Approved :: GNU General Public License (GPL)")],
        [("License", "ask us")],
        [],
    ],
)
def test_another_licence_needs_a_decision(notices: Any, fields: list[tuple[str, str]]) -> None:
    with pytest.raises(ValueError, match="decide on its licence"):
        notices.licence(Package("other", *fields))


def test_a_licence_is_read_from_older_metadata(notices: Any) -> None:
    assert notices.licence(Package("a", ("License", "Apache 2.0"))) == "Apache-2.0"
    classifier = ("Classifier", "License :: OSI Approved :: MIT License")
    assert notices.licence(Package("a", classifier)) == "MIT"


def test_no_decision_outlives_its_package(notices: Any) -> None:
    assert [name for name in notices.DECIDED if not notices.installed(name)] == []


@pytest.mark.long
def test_the_bill_of_materials_names_every_package(notices: Any, tmp_path: Path) -> None:
    bill = tmp_path / "bill.json"
    subprocess.run(["make", "--silent", "sbom", f"SBOM={bill}"], cwd=ROOT, check=True)
    found = json.loads(bill.read_text("utf-8"))
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    root = found["metadata"]["component"]
    assert (root["name"], root["purl"]) == ("ragkit", f"pkg:pypi/ragkit@{root['version']}")
    versions = notices.pins()
    needed = notices.closure(notices.project_requirements("otel"), notices.here())
    assert {notices.canonicalize_name(part["name"]) for part in found["components"]} == needed
    for part in found["components"]:
        name = notices.canonicalize_name(part["name"])
        assert part["version"].partition("+")[0] == versions[name]
        assert part["purl"].startswith(f"pkg:pypi/{name}@{versions[name]}")
        assert part["licenses"] == [{"expression": notices.licence(notices.distribution(name))}]
    assert [entry for entry in found["dependencies"] if entry["ref"] == root["bom-ref"]]
