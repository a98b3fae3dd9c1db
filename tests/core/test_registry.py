"""The registry: built-in names, entry points of other packages, and what goes wrong with them."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from ragkit import registry
from ragkit.answer.extract import ExtractiveGenerator
from ragkit.errors import SettingsError


def offer(monkeypatch: pytest.MonkeyPatch, name: str, value: str, group: str) -> None:
    points = EntryPoints([EntryPoint(name, value, group)])
    monkeypatch.setattr(registry, "entry_points", lambda group: points.select(group=group))


def test_built_in_names_can_be_found() -> None:
    assert sorted(registry.available("embedder")) == ["local"]
    assert sorted(registry.available("generator")) == ["chat", "extractive"]
    assert registry.find("generator", "extractive") is ExtractiveGenerator
    assert registry.find("generator", "chat").__name__ == "ChatGenerator"
    assert registry.find("embedder", "local").__name__ == "LocalEmbedder"


def test_entry_point_adds_a_name_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "ordered", "collections:OrderedDict", "ragkit.embedder")
    assert registry.find("embedder", "ordered").__name__ == "OrderedDict"
    assert "ordered" not in registry.available("generator")


def test_duplicate_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "local", "other.package:Embedder", "ragkit.embedder")
    with pytest.raises(
        SettingsError, match=r"'local': ragkit\.embed\.local:LocalEmbedder and other\.package"
    ):
        registry.find("embedder", "local")


def test_unknown_name_suggests_the_close_one() -> None:
    with pytest.raises(SettingsError) as raised:
        registry.find("generator", "extractiv")
    assert str(raised.value) == "There is no generator 'extractiv': use extractive."


def test_unknown_name_unlike_any_lists_them() -> None:
    with pytest.raises(SettingsError, match=r"no generator 'x': use chat or extractive\."):
        registry.find("generator", "x")


@pytest.mark.parametrize("value", ["no_such_package:Thing", "collections:NoSuchThing"])
def test_broken_entry_point_is_one_line(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    offer(monkeypatch, "broken", value, "ragkit.embedder")
    with pytest.raises(SettingsError, match=f"'broken' \\({value}\\) cannot be imported"):
        registry.find("embedder", "broken")
