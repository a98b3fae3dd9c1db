"""Licences as cards and READMEs state them, and what is said of them."""

import hashlib
import json
from pathlib import Path

import pytest

from ragkit.embed.find import find_model
from ragkit_tune.model_files.card import Parent, describe_parent, licence, licence_notes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nlicense: mit\n---\n# Model", "mit"),
        ("---\ntags:\n- a\nlicense: 'cc-by-nc-4.0'\n---\n", "cc-by-nc-4.0"),
        ("# Model\nlicense: mit\n", ""),
        ("---\ntags: a\n---\nlicense: mit\n", ""),
        ("", ""),
    ],
)
def test_the_licence_stands_in_the_front_matter(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "README.md").write_text(text, "utf-8")
    assert licence(tmp_path) == expected


def test_a_model_that_was_made_of_others_has_all_their_licences(tmp_path: Path) -> None:
    assert licence(tmp_path) == ""
    parents = [{"licence": "mit"}, {"licence": "apache-2.0"}, {"licence": ""}]
    (tmp_path / "card.json").write_text(json.dumps({"parents": parents}), "utf-8")
    assert licence(tmp_path) == "apache-2.0 and mit"


def test_what_forbids_commercial_use_is_said() -> None:
    names = ("mit", "cc-by-nc-sa-4.0", "nvidia-open", "other-non-commercial", "since-nc")
    parents = [Parent(name, "", "", name) for name in names]
    assert licence_notes(parents)[1:] == [
        "cc-by-nc-sa-4.0 forbids commercial use",
        "other-non-commercial forbids commercial use",
        "since-nc forbids commercial use",
    ]


def test_the_packaged_models_have_the_licences_of_their_cards() -> None:
    parent = describe_parent(find_model("minilm"))
    assert (parent.name, parent.licence) == ("all-MiniLM-L6-v2", "apache-2.0")
    # `sha256sum model.safetensors`, and that hash's bytes hashed again: one file of weights
    weights = bytes.fromhex("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db")
    assert parent.sha256 == hashlib.sha256(weights).hexdigest()
