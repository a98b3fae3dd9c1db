"""A collection whose questions use other words than its documents, and models that know it or not.

Each word of a question stands for one of a document. The base is a BERT with random weights, for
which they have nothing in common; in the planted model both have the same vector.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from ragkit.embed.local import LocalEmbedder
from ragkit.errors import RagkitError
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.testing.corpus import fill, new_document
from ragkit_tune.data.data_set import write_data_set
from ragkit_tune.run.folder import create_run
from tests.commands import run
from tests.core.embed.tiny_model import write_model

DOCUMENTS = 40
PARAGRAPHS = 3
WORDS = 3  # of a question
WEIGHTS = "model.safetensors"

Row = dict[str, Any]


@dataclass(frozen=True)
class Planted:
    """The folders of the models, and the files of rows and questions."""

    folder: Path
    base: Path
    tuned: Path
    noise: Path
    questions: Path

    def run(self, home: Path, name: str, model: Path, **values: Any) -> Path:
        """Make a finished run of this home whose model is a copy of a folder."""
        data = self.folder / "data"
        card = json.loads((data / "card.json").read_text("utf-8"))
        recipe = {"kind": "embedder", "base": str(self.base), "data": str(data)}
        base = {"name": "base", "revision": "", "folder": str(self.base)}
        run = create_run(
            home, name,
            {"kind": "embedder", "state": "finished", "recipe": recipe, "base": base,
             "data_hash": card["hash"], **values},
        )  # fmt: skip
        shutil.copytree(model, run.model)
        return run.path


def in_process(arguments: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run `ragkit` as a proof does, in the test's own process."""
    result = run(*arguments, environment=variables)
    if result.returncode not in {0, 3}:
        raise RagkitError(result.stderr)
    return result.stdout


def words(model: Path) -> list[str]:
    """Return ordinary words of the tokenizer, each one token."""
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    ordered = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    return [word for word, _ in ordered if word.isascii() and word.isalpha() and len(word) > 5]


def paragraphs(known: list[str]) -> dict[str, list[list[str]]]:
    """Return the words of each paragraph, three and no other has them."""
    draw = iter(known[: DOCUMENTS * PARAGRAPHS * WORDS])
    return {
        f"/d/{n}.md": [[next(draw) for _ in range(WORDS)] for _ in range(PARAGRAPHS)]
        for n in range(DOCUMENTS)
    }


def plant(folder: Path, settings: Settings) -> Planted:
    """Write models and questions, and store the documents in collection "c" with the base."""
    base = write_model(folder / "base", seed=1, dimension=48)
    known = words(base)
    count = DOCUMENTS * PARAGRAPHS * WORDS
    asked = dict(zip(known[:count], known[count : 2 * count], strict=True))
    tuned, noise = folder / "tuned", folder / "noise"
    _write_like(base, tuned, lambda weights: _teach(weights, base, asked))
    _write_like(base, noise, _disturb)
    texts = {
        uri: [f"{' '.join(row)} {' '.join(row)}." for row in rows]
        for uri, rows in paragraphs(known).items()
    }
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        store.create_collection("c")
        embedder = LocalEmbedder(str(base))
        embedder.load()
        store.spaces.adopt("c", embedder.space, source=str(base), first=None)
        fill(store, embedder, [new_document(uri, *rows) for uri, rows in texts.items()], "c")
    rows = [row for uri, listed in paragraphs(known).items() for row in _label(uri, listed, asked)]
    train, test = rows[:15], rows[30:]  # documents of their own
    pairs = [_pair(row, texts) for row in train]
    card = {"collection": "c", "written_by": "", "how": {"headings": 15}, "left_out": {"short": 2}}
    data = write_data_set(
        folder / "data", "pairs",
        {"train": pairs[:12], "dev": pairs[12:], "test": test}, card,
    )  # fmt: skip
    return Planted(folder, base, tuned, noise, data.path("test"))


def _label(uri: str, rows: list[list[str]], asked: dict[str, str]) -> list[Row]:
    labels, start = [], 0
    for number, row in enumerate(rows):
        length = 2 * len(" ".join(row)) + 2
        labels.append(
            {
                "id": f"{uri}-{number}",
                "question": " ".join(asked[word] for word in row) + "?",
                "answers": [row[0]],
                "relevant": {uri: 1},
                "spans": [{"document": uri, "start": start, "end": start + length}],
                "group": uri,
                "answerable": True,
            }
        )
        start += length + 2
    return labels


def _pair(row: Row, texts: dict[str, list[str]]) -> Row:
    (span,) = row["spans"]
    text = "\n\n".join(texts[span["document"]])
    return {
        "id": row["id"], "query": row["question"], "positive": text[span["start"] : span["end"]],
        "document": span["document"], "start": span["start"], "end": span["end"],
    }  # fmt: skip


def _write_like(base: Path, folder: Path, change: Any) -> None:
    shutil.copytree(base, folder)
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS)


def _teach(weights: dict[str, torch.Tensor], base: Path, asked: dict[str, str]) -> None:
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    table = weights["embeddings.word_embeddings.weight"]
    for word, other in asked.items():
        table[tokenizer.token_to_id(other)] = table[tokenizer.token_to_id(word)]


def _disturb(weights: dict[str, torch.Tensor]) -> None:
    random = torch.Generator().manual_seed(7)
    for name in sorted(weights):
        tensor = weights[name]
        if tensor.dim() == 2:
            tensor += 0.02 * tensor.std() * torch.randn(tensor.shape, generator=random)
