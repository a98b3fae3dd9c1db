"""The handbook that a proof guards by: in a checkout, in an installed wheel, or nowhere."""

from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

from ragkit_tune.proof import guards
from tests.places import ROOT

MAX_BYTES = 200_000  # arbitrary: what an installation may carry for this


def test_a_wheel_has_the_handbook_of_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with ZipFile(wheel) as archive:
        inside = [
            item for item in archive.infolist()
            if item.filename.startswith("ragkit_tune/proof/handbook/")
        ]  # fmt: skip
        archive.extractall(tmp_path / "site", [item.filename for item in inside])
    assert 20_000 < sum(item.file_size for item in inside) < MAX_BYTES
    checkout = guards.handbook_folder()
    assert checkout == ROOT / "examples" / "handbook"
    monkeypatch.setattr(guards, "__file__", str(tmp_path / "site/ragkit_tune/proof/guards.py"))
    installed = guards.handbook_folder()
    assert installed == tmp_path / "site/ragkit_tune/proof/handbook"
    for code in ("en", "zh"):
        read = [
            {path.name: path.read_bytes() for path in (folder / code).iterdir()}
            for folder in (checkout, installed)
        ]
        assert read[0] == read[1]
        assert len(read[0]) >= 6


def test_where_it_is_not_installed_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "__file__", str(tmp_path / "a/b/c/d/guards.py"))
    assert guards.handbook_folder() is None
