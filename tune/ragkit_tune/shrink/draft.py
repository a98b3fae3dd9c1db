"""A model as it is to be written: tensors that are computed while they are written, settings.

Each way to make a model smaller takes a draft and returns another; nothing is read before the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragkit.embed.find import ModelFiles, read_json
from ragkit.errors import ModelError
from ragkit_tune.model_files.tensors import Read, Stored, TensorFolder


@dataclass(frozen=True, slots=True)
class Draft:
    """A model to be: its table of tensors and how each is read, its files of JSON.

    `numbers` are the tokens' new numbers by their old ones, where these changed. `is_network_new`
    tells whether a token's vectors change, so that what was measured on them is stale.
    """

    parent: ModelFiles
    table: Mapping[str, Stored]
    read: Read
    files: Mapping[str, Any] = field(default_factory=dict)
    stale: frozenset[str] = frozenset()
    numbers: Mapping[int, int] | None = None
    is_network_new: bool = False
    notes: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Count the bytes of the tensors to be written."""
        return sum(stored.bytes for stored in self.table.values())

    def settings(self, name: str) -> dict[str, Any]:
        """Return a file of JSON as it is to be written. Raises ModelError."""
        file = self.parent.folder / name
        content = self.files[name] if name in self.files else read_json(file)
        if not isinstance(content, dict):
            raise ModelError(f"{file} holds no JSON object: get the model anew")
        return content


def draft_of(parent: ModelFiles, tensors: TensorFolder) -> Draft:
    """Begin with the model as it is, its tensors in a single file."""
    table = {name: Stored(stored.shape, stored.dtype) for name, stored in tensors.table.items()}
    return Draft(parent, table, tensors.read)


def layer_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a configuration that states layers and vocabulary."""
    inner = config.get("text_config")
    return inner if isinstance(inner, dict) else config


def with_layer_config(config: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with another such part."""
    if isinstance(config.get("text_config"), dict):
        return {**config, "text_config": dict(part)}
    return dict(part)
