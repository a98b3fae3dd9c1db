"""Make a model smaller: apply what is asked for in a fixed order, write the folder and its card.

The order is vocabulary, layers, heads, magnitude, dimension; nothing is trained again here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragkit.embed.models import model_card
from ragkit.errors import UsageError
from ragkit_tune.model_files.card import Card
from ragkit_tune.model_files.folder import find_parent
from ragkit_tune.model_files.tensors import RANGES
from ragkit_tune.model_files.texts import gather_texts, read_texts
from ragkit_tune.shrink.dimension import reduce_dimension
from ragkit_tune.shrink.draft import Draft, draft_of
from ragkit_tune.shrink.layers import Choice, drop_layers
from ragkit_tune.shrink.magnitude import Scope, zero_heads, zero_smallest
from ragkit_tune.shrink.rows import choose_rows
from ragkit_tune.shrink.write import write_draft
from ragkit_tune.vocabulary.languages import scripts_of_languages
from ragkit_tune.vocabulary.prune import prune, tokens_of_scripts, tokens_of_texts
from ragkit_tune.vocabulary.tokenizer_file import STALE_FORMS, read_vocabulary


@dataclass(frozen=True, slots=True)
class ShrinkOptions:
    """What is made smaller, and how: 0 or empty where that stays as it is.

    `texts` and the documents of `collection` choose tokens, besides those of the languages in
    `vocabulary`. The texts in `pca` are
    those that principal components are fitted on; without any, the first dimensions remain.
    """

    vocabulary: tuple[str, ...] = ()
    texts: tuple[Path, ...] = ()
    collection: str = ""
    layers: int = 0
    layer_choice: Choice = "even"
    heads: int = 0
    magnitude: float = 0.0
    scope: Scope = "global"
    dimension: int = 0
    pca: tuple[Path, ...] = ()


def shrink_model(model: str, options: ShrinkOptions, out: Path) -> Card:
    """Write a smaller model to `out`, which must not exist, and return its card.

    Raises UsageError for options that the model does not allow, NotFoundError for texts that are
    missing, ModelError for a model or a disk that cannot be used.
    """
    _check(options)
    parent, tensors = find_parent(model)
    named = options.texts or options.collection
    texts = gather_texts(options.texts, options.collection) if named else []
    fitted = read_texts(options.pca) if options.pca else []
    draft = draft_of(parent, tensors)
    if options.vocabulary or texts:
        draft = prune_vocabulary(draft, options.vocabulary, texts)
    if options.layers:
        draft = drop_layers(draft, options.layers, options.layer_choice)
    if options.heads:
        draft = zero_heads(draft, options.heads)
    if options.magnitude:
        draft = zero_smallest(draft, options.magnitude, options.scope)

    def finish(folder: Path) -> Sequence[str]:
        if not options.dimension:
            return ()
        return (reduce_dimension(folder, options.dimension, fitted),)

    return write_draft(draft, out, made_by="shrink", settings=_settings(options), finish=finish)


def prune_vocabulary(draft: Draft, languages: Sequence[str], texts: Sequence[str]) -> Draft:
    """Return the draft with the tokens of languages and texts, and the rows of these."""
    folder = draft.parent.folder
    vocabulary = read_vocabulary(folder)
    chosen: set[int] = set()
    if languages:
        chosen |= tokens_of_scripts(vocabulary, scripts_of_languages(languages))
    if texts:
        card = model_card(draft.parent.name, folder)
        chosen |= tokens_of_texts(vocabulary, [*texts, card.query_prefix, card.passage_prefix])
    chosen |= checked_tokens(folder)
    pruned = prune(vocabulary, chosen, folder)
    note = (
        f"{len(pruned.order):,} of {len(vocabulary.tokens):,} tokens remain; a text of these alone"
        " has the vectors that it had, any other text has other tokens or unknown ones"
    )
    draft = choose_rows(draft, pruned.order)
    config = draft.files["config.json"]  # with the new count of rows
    files = {**draft.files, **pruned.files}
    files["config.json"] = _with_rows(pruned.files["config.json"], config)
    return replace(
        draft,
        files=files,
        stale=draft.stale | {*STALE_FORMS},
        numbers={number: place for place, number in enumerate(pruned.order)},
        notes=(*draft.notes, note),
    )


def checked_tokens(folder: Path) -> set[int]:
    """Return the tokens of the check that goes with 8-bit ranges, so that it stays of use."""
    from safetensors.torch import load_file

    file = folder / RANGES
    ids = load_file(file).get("check.ids") if file.is_file() else None
    return set() if ids is None else set(ids.flatten().tolist())


def _with_rows(renumbered: Mapping[str, Any], resized: Mapping[str, Any]) -> dict[str, Any]:
    """Join the new numbers of special tokens and the new count of rows."""
    if isinstance(resized.get("text_config"), dict):
        inner = {**renumbered["text_config"], "vocab_size": resized["text_config"]["vocab_size"]}
        return {**renumbered, "text_config": inner}
    return {**renumbered, "vocab_size": resized["vocab_size"]}


def _check(options: ShrinkOptions) -> None:
    steps = (
        options.vocabulary, options.texts, options.collection, options.layers, options.heads,
        options.magnitude, options.dimension,
    )  # fmt: skip
    if not any(steps):
        raise UsageError(
            "nothing to make smaller: name --vocabulary, --texts, --collection, --layers, --heads,"
            " --magnitude or --dimension"
        )
    if options.pca and not options.dimension:
        raise UsageError("--pca fits components of a --dimension: name that, too")


def _settings(options: ShrinkOptions) -> dict[str, Any]:
    """Return the options that were used, for the card; of texts the files' names alone."""
    settings: dict[str, Any] = {}
    if options.vocabulary:
        settings["vocabulary"] = ",".join(options.vocabulary)
    for name, files in (("texts", options.texts), ("pca", options.pca)):
        if files:
            settings[name] = ", ".join(file.name for file in files)
    if options.collection:
        settings["collection"] = options.collection
    if options.layers:
        settings |= {"layers": options.layers, "layer_choice": options.layer_choice}
    if options.heads:
        settings["heads"] = options.heads
    if options.magnitude:
        settings |= {"magnitude": options.magnitude, "scope": options.scope}
    if options.dimension:
        settings["dimension"] = options.dimension
    return settings
