"""The prompts that an adapter was trained with, and those that are used now."""

import json
from pathlib import Path

import pytest

from ragkit.prompts.messages import PACKING, build_prompt
from ragkit.prompts.templates import Templates
from ragkit.prompts.trained import TrainedPrompts, current_versions, read_trained


def test_current_versions_are_those_of_prompts_in_both_languages() -> None:
    versions = {build_prompt(text, [], budget_tokens=9).version for text in ("Why?", "为什么？")}
    assert current_versions(None, "") == versions
    assert len(versions) == 2


def test_a_collections_own_template_makes_another_version(tmp_path: Path) -> None:
    own = tmp_path / "law"
    own.mkdir()
    (own / "user.zh.jinja").write_text("{{ question }}", "utf-8")
    english = f"{Templates().version('system', 'user', language='en')}-{PACKING}"
    assert current_versions(tmp_path, "law") & current_versions(None, "") == {english}
    assert current_versions(tmp_path, "other") == current_versions(None, "")


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        (None, TrainedPrompts(())),
        ("", TrainedPrompts(())),
        ("[]", TrainedPrompts(())),
        ('{"prompts": "a-1"}', TrainedPrompts(())),
        ('{"prompts": ["a-1"]}', TrainedPrompts(("a-1",))),
        ('{"prompts": ["a-1"], "collection": "law"}', TrainedPrompts(("a-1",), "law")),
    ],
)
def test_an_adapters_card(tmp_path: Path, card: str | None, expected: TrainedPrompts) -> None:
    if card is not None:
        (tmp_path / "card.json").write_text(card, "utf-8")
    assert read_trained(tmp_path) == expected


def test_versions_that_are_used_are_not_stale(tmp_path: Path) -> None:
    current = sorted(current_versions(None, "c"))
    card = {"prompts": [current[0], "0123456789ab-1"]}
    (tmp_path / "card.json").write_text(json.dumps(card), "utf-8")
    assert read_trained(tmp_path).stale(frozenset(current)) == ("0123456789ab-1",)
