"""What the embedding models' cards say that their files do not: prefixes and languages.

Only what a card states stands here. A model that is not in the table takes the prompts of its
own config_sentence_transformers.json, and the languages that `ragkit tune` writes there of the
model that it was made from; without them its languages are unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragkit.embed.find import read_json
from ragkit.text.analyse import CJK, analyse
from ragkit.types import EmbeddingSpace

_SEARCH = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Prefixes of queries and passages, and the languages that a model reads.

    `languages` holds ISO 639-1 codes; {"*"} stands for a model trained on a hundred or so of
    them, None for not known.
    """

    query_prefix: str = ""
    passage_prefix: str = ""
    languages: frozenset[str] | None = None

    def reads(self, language: str) -> bool | None:
        """Say whether the model was trained for a language such as "zh"; None if not known."""
        if self.languages is None:
            return None
        return "*" in self.languages or language in self.languages


_CJK = re.compile(f"[{CJK}]")
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")

_EN, _ZH, _MANY = frozenset({"en"}), frozenset({"zh"}), frozenset({"*"})
_E5 = ModelCard("query: ", "passage: ", _EN)
_E5_MANY = ModelCard("query: ", "passage: ", _MANY)
_BGE_EN = ModelCard(_SEARCH, "", _EN)
_BGE_ZH = ModelCard("为这个句子生成表示以用于检索相关文章：", "", _ZH)
_QWEN3 = ModelCard(
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
    "",
    _MANY,
)

# By the last part of the hub name. Source of each: huggingface.co/<owner>/<name>, the model card.
_CARDS = {
    "all-minilm-l6-v2": ModelCard(languages=_EN),  # sentence-transformers
    "bge-small-en-v1.5": _BGE_EN,  # BAAI
    "bge-base-en-v1.5": _BGE_EN,
    "bge-large-en-v1.5": _BGE_EN,
    "bge-small-zh-v1.5": _BGE_ZH,
    "bge-base-zh-v1.5": _BGE_ZH,
    "bge-large-zh-v1.5": _BGE_ZH,
    "bge-m3": ModelCard(languages=_MANY),
    "e5-small-v2": _E5,  # intfloat
    "e5-base-v2": _E5,
    "e5-large-v2": _E5,
    "multilingual-e5-small": _E5_MANY,
    "multilingual-e5-base": _E5_MANY,
    "multilingual-e5-large": _E5_MANY,
    "gte-small": ModelCard(languages=_EN),  # thenlper
    "gte-base": ModelCard(languages=_EN),
    "gte-large": ModelCard(languages=_EN),
    "gte-small-zh": ModelCard(languages=_ZH),
    "gte-base-zh": ModelCard(languages=_ZH),
    "gte-large-zh": ModelCard(languages=_ZH),
    "nomic-embed-text-v1.5": ModelCard("search_query: ", "search_document: ", _EN),  # nomic-ai
    "mxbai-embed-large-v1": ModelCard(_SEARCH, "", _EN),  # mixedbread-ai
    "qwen3-embedding-0.6b": _QWEN3,  # Qwen
    "qwen3-embedding-4b": _QWEN3,
    "qwen3-embedding-8b": _QWEN3,
}


# By model and revision, which is a hash of the files: what a folder says cannot change.
_BY_SPACE: dict[tuple[str, str], ModelCard] = {}


def model_card(model: str, folder: Path | None = None) -> ModelCard:
    """Look a model up by hub name or folder; a folder's own settings serve where no card does.

    >>> model_card("intfloat/multilingual-e5-small").query_prefix
    'query: '
    """
    card = _CARDS.get(model.rstrip("/").rpartition("/")[2].casefold())
    if card is not None:
        return card
    file = folder / "config_sentence_transformers.json" if folder else None
    settings = read_json(file) if file else {}
    prompts = settings.get("prompts") or {}
    languages = settings.get("languages")
    return ModelCard(
        query_prefix=prompts.get("query") or "",
        passage_prefix=prompts.get("document") or prompts.get("passage") or "",
        languages=frozenset(languages) if isinstance(languages, list) else None,
    )


def space_of(model: str, revision: str, folder: Path, dimension: int) -> EmbeddingSpace:
    """Make a model's space, and remember its card: the space's name does not tell the folder."""
    card = model_card(model, folder)
    _BY_SPACE[model, revision] = card
    return EmbeddingSpace(model, revision, dimension, card.query_prefix, card.passage_prefix)


def card_of(space: EmbeddingSpace) -> ModelCard:
    """Return the card of a space's model, which was loaded here or has a known name."""
    return _BY_SPACE.get((space.model, space.revision)) or model_card(space.model)


def settings_of(card: ModelCard) -> dict[str, Any]:
    """Return what of a card stands in a folder's config_sentence_transformers.json.

    >>> settings_of(model_card("all-MiniLM-L6-v2"))
    {'languages': ['en']}
    """
    prompts = {"query": card.query_prefix, "document": card.passage_prefix}
    return {
        **({"prompts": prompts} if any(prompts.values()) else {}),
        **({"languages": sorted(card.languages)} if card.languages else {}),
    }


def reads_all(card: ModelCard) -> bool:
    """Tell whether a model was trained on so many languages that none needs to be asked for."""
    return card.languages == _MANY


def readable_share(card: ModelCard, text: str) -> float:
    """Estimate the share of a text's terms in languages the model was trained for, 0 to 1.

    Told by script alone: Han characters are Chinese, or Japanese beside kana; everything that is
    not CJK counts as read. A model whose languages are not known is taken to read everything.

    >>> readable_share(ModelCard(languages=frozenset({"en"})), "BM25 是什么")
    0.3333333333333333
    """
    if card.languages is None:
        return 1.0
    terms = analyse(text)
    japanese = any(_KANA.search(term) for term in terms)
    languages = [_language(term, japanese) for term in terms]
    read = sum(language is None or bool(card.reads(language)) for language in languages)
    return read / len(terms) if terms else 1.0


def _language(term: str, japanese: bool) -> str | None:
    if not _CJK.match(term):
        return None
    if _HANGUL.match(term):
        return "ko"
    return "ja" if japanese else "zh"
