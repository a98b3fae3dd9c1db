"""The table of prefixes and languages, and where it does not reach."""

import json
from pathlib import Path

import pytest

from ragkit.embed.models import ModelCard, model_card, readable_share


def test_a_known_model_by_any_of_its_names() -> None:
    for name in ("BAAI/bge-small-zh-v1.5", "bge-small-zh-v1.5", "/models/BGE-small-zh-v1.5/"):
        card = model_card(name)
        assert card.query_prefix == "为这个句子生成表示以用于检索相关文章："
        assert card.passage_prefix == ""


def test_e5_marks_queries_and_passages() -> None:
    card = model_card("intfloat/multilingual-e5-large")
    assert (card.query_prefix, card.passage_prefix) == ("query: ", "passage: ")


def test_which_languages_a_model_reads() -> None:
    assert model_card("all-MiniLM-L6-v2").reads("en") is True
    assert model_card("all-MiniLM-L6-v2").reads("zh") is False
    assert model_card("BAAI/bge-m3").reads("zh") is True
    assert model_card("someone/unheard-of").reads("zh") is None


def test_an_unknown_model_takes_the_prompts_of_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "config_sentence_transformers.json"
    file.write_text(json.dumps({"prompts": {"query": "Q: ", "document": "D: "}}), "utf-8")
    assert model_card("someone/unheard-of", tmp_path) == ModelCard("Q: ", "D: ")


def test_an_unknown_model_without_prompts_has_none(tmp_path: Path) -> None:
    assert model_card("someone/unheard-of", tmp_path) == ModelCard()
    (tmp_path / "config_sentence_transformers.json").write_text("{}", "utf-8")
    assert model_card("someone/unheard-of", tmp_path) == ModelCard()


@pytest.mark.parametrize(
    ("languages", "text", "share"),
    [
        ({"en"}, "what lifts a wing", 1.0),
        ({"en"}, "机翼", 0.0),
        ({"en"}, "BM25 是什么", 1 / 3),
        ({"zh"}, "机翼 wing", 1.0),
        ({"zh"}, "これは何ですか", 0.0),
        ({"ja"}, "これは何ですか", 1.0),
        ({"en", "zh"}, "날개", 0.0),
        ({"*"}, "날개 机翼 wing", 1.0),
        (None, "机翼", 1.0),
        ({"en"}, "", 1.0),
    ],
)
def test_the_share_a_model_reads_goes_by_script(
    languages: set[str] | None, text: str, share: float
) -> None:
    card = ModelCard(languages=None if languages is None else frozenset(languages))
    assert readable_share(card, text) == pytest.approx(share)
