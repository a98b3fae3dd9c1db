"""The rows of a network that stand for tokens: chosen by number, or made for new tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragkit.errors import ModelError
from ragkit_tune.model_files.tensors import Read, Stored
from ragkit_tune.shrink.draft import Draft, layer_config, with_layer_config

if TYPE_CHECKING:
    from torch import Tensor

# Tables that a token's number is looked up in, and those whose outputs are tokens.
_INPUTS: Final = (
    "word_embeddings.weight",  # BERT's family
    "embed_tokens.weight",  # Llama's, Qwen's, Gemma's
    "tok_embeddings.weight",  # ModernBERT
    "wte.weight",  # GPT-2
    "shared.weight",  # T5
)
_OUTPUTS: Final = (
    "lm_head.weight",
    "lm_head.bias",
    "lm_head.decoder.weight",
    "lm_head.decoder.bias",
    "embed_out.weight",
    "predictions.bias",
    "predictions.decoder.weight",
    "predictions.decoder.bias",
    "decoder.weight",
    "decoder.bias",
)


def token_tables(draft: Draft) -> dict[str, Stored]:
    """Return the tensors with a row for each token. Raises ModelError where none is known."""
    inputs = [name for name in draft.table if name.endswith(_INPUTS)]
    if not inputs:
        raise ModelError(
            f"model {draft.parent.name} has no table of tokens of a known name"
            f" ({', '.join(_INPUTS)}): its vocabulary cannot be changed"
        )
    rows = draft.table[inputs[0]].shape[0]
    names = [name for name in draft.table if name.endswith(_INPUTS + _OUTPUTS)]
    return {name: draft.table[name] for name in names if draft.table[name].shape[0] == rows}


def choose_rows(draft: Draft, order: Sequence[int]) -> Draft:
    """Return the draft with the rows of the tokens `order` alone, in this order."""
    import torch

    tables = token_tables(draft)
    rows = next(iter(tables.values())).shape[0]
    if max(order) >= rows:
        raise ModelError(
            f"model {draft.parent.name} has {rows} rows of tokens and a tokenizer of more:"
            " get it anew"
        )
    numbers = torch.tensor(order)
    read = draft.read

    def chosen(name: str) -> Tensor:
        tensor = read(name)
        return tensor[numbers] if name in tables else tensor

    return _resized(draft, tables, len(order), chosen)


def add_rows(draft: Draft, count: int, pieces: Mapping[int, Sequence[int]]) -> Draft:
    """Return the draft with `count` rows; those of new tokens are the mean of old tokens' rows.

    `pieces` names the old tokens of each new one; any further row is zero.
    """
    import torch

    tables = token_tables(draft)
    read = draft.read
    rows = next(iter(tables.values())).shape[0]
    count = max(count, rows)

    def extended(name: str) -> Tensor:
        tensor = read(name)
        if name not in tables:
            return tensor
        result = torch.zeros((count, *tensor.shape[1:]), dtype=tensor.dtype)
        result[:rows] = tensor
        for number, parts in pieces.items():
            result[number] = tensor[list(parts)].double().mean(0).to(tensor.dtype)
        return result

    return _resized(draft, tables, count, extended)


def _resized(draft: Draft, tables: Mapping[str, Stored], rows: int, read: Read) -> Draft:
    table = dict(draft.table)
    for name, stored in tables.items():
        table[name] = Stored((rows, *stored.shape[1:]), stored.dtype)
    config = draft.settings("config.json")
    part = {**layer_config(config), "vocab_size": rows}
    files = {**draft.files, "config.json": with_layer_config(config, part)}
    return replace(draft, table=table, files=files, read=read)
