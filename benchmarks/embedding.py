"""Embedding: the default model in each number format, against sentence-transformers."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.data import ROOT, clapnq_answerable, cmrc, cranfield
from benchmarks.embedding_once import Whole
from ragkit.answer.meaning import cut_to_model
from ragkit.embed.bert import load_bert
from ragkit.embed.bundled import NAME
from ragkit.embed.find import MINILM, find_model
from ragkit.embed.int8 import Product, Scale, load_int8
from ragkit.embed.local import LocalEmbedder
from ragkit.embed.projection import ProjectedEncoder, load_projection
from ragkit_eval.retrieval import ndcg
from ragkit_eval.sets import LabelledSet

if TYPE_CHECKING:
    from ragkit.embed.local import Encoder

ROUNDS = 3
PASSAGES = 80  # of each set, half English and half Chinese
QUERIES = 40
DOCUMENTS, QUESTIONS = 400, 400  # of a set, for quality
SIDE = 2048  # of the square matrices whose product is the roof
TARGET_MS = 10
HEAD = f"""## Embedding

The default model, {NAME}, and MiniLM, with {PASSAGES} passages (CMRC 2018, CLAPNQ) and {QUERIES}
questions, tokenizing included: sentence-transformers by its defaults, in float32 and in bfloat16,
and ragkit in each number format, in turns; medians of {ROUNDS} rounds. *Roof*: the share of the
operations a second that a product of two matrices of {SIDE} by {SIDE} reaches in the same format
here. *nDCG@10*: dense search over a set's first {DOCUMENTS} documents, cut to what the model reads;
*cosine* is that to float32, mean and least, as stored. Wanted: twice sentence-transformers' float32
without bfloat16, which int8 does not use; five times in the best format; a question within
{TARGET_MS} ms; 60% of the roof.
"""

Embed = Callable[[Sequence[str]], Any]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the ways: it embeds passages, and a question."""

    name: str
    passages: Embed
    query: Callable[[str], Any]


def run() -> str:
    lines = [HEAD]
    for name in (NAME, MINILM):
        folder = find_model(name).folder
        own = _own(name, folder)
        sides = [*_library(folder, _prefixes(name)), *own]
        lines.append(_speed(name, sides))
        print(lines[-1], flush=True)
        if name == NAME:
            lines.append(_quality(own))
    return "\n".join([*lines, _whole()])


def _own(name: str, folder: Path) -> list[Side]:
    """Return ragkit's ways: those that this processor has."""
    import torch

    encoders: dict[str, Encoder | None] = {
        "float32": load_bert(folder, "cpu", torch.float32),
        "bfloat16": load_bert(folder, "cpu", torch.bfloat16),
    }
    if (whole := load_int8(folder)) is not None:
        encoders["int8"] = whole
    matrix = load_projection(folder, "cpu")
    sides = []
    for format_, encoder in encoders.items():
        assert encoder is not None
        embedder = LocalEmbedder(name)
        embedder.load()
        projected = encoder if matrix is None else ProjectedEncoder(encoder, matrix)
        loaded = embedder._loaded
        assert loaded is not None
        embedder._loaded = replace(loaded, encoder=projected)
        sides.append(Side(format_, embedder.embed_passages, embedder.embed_query))
    return sides


def _prefixes(name: str) -> tuple[str, str]:
    space = LocalEmbedder(name).space
    return space.query_prefix, space.passage_prefix


def _library(folder: Path, prefixes: tuple[str, str]) -> list[Side]:
    import torch
    from sentence_transformers import SentenceTransformer

    query, passage = prefixes
    sides = []
    for dtype in (torch.float32, torch.bfloat16):
        model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": dtype})

        def encode(texts: Sequence[str], model: SentenceTransformer = model) -> Any:
            return model.encode(
                [passage + text for text in texts],
                normalize_embeddings=True,
                show_progress_bar=False,
            )

        def ask(text: str, model: SentenceTransformer = model) -> Any:
            return model.encode(query + text, normalize_embeddings=True, show_progress_bar=False)

        format_ = str(dtype).removeprefix("torch.")
        sides.append(Side(f"sentence-transformers, {format_}", encode, ask))
    return sides


def _speed(name: str, sides: Sequence[Side]) -> str:
    embedder = LocalEmbedder(name)
    texts = [cut_to_model(embedder, text) for text in _passages()]
    tokens = sum(len(row) + 2 for row in embedder.passage_ids(texts))
    questions = [question.text for labelled in _sets() for question in labelled.questions]
    asked = questions[:: len(questions) // QUERIES][:QUERIES]
    passages: dict[str, list[float]] = {side.name: [] for side in sides}
    queries: dict[str, list[float]] = {side.name: [] for side in sides}
    for number in range(ROUNDS + 1):  # the first one does not count
        for side in sides:
            began = perf_counter()
            side.passages(texts)
            between = perf_counter()
            for text in asked:
                side.query(text)
            if number:
                passages[side.name].append(between - began)
                queries[side.name].append((perf_counter() - between) / len(asked))
    base = median(passages[sides[0].name])
    roofs = _roofs()
    lines = [
        f"### {name}\n",
        f"| | tokens a second | times {sides[0].name} | one question, ms | roof |",
        "|---|---|---|---|---|",
    ]
    for side in sides:
        seconds = median(passages[side.name])
        reached = tokens * _operations(name) / seconds
        roof = roofs[side.name.removeprefix("sentence-transformers, ")]
        lines.append(
            f"| {side.name} | {tokens / seconds:,.0f} | {base / seconds:.2f} |"
            f" {median(queries[side.name]) * 1000:.1f} | {reached / roof:.0%} |"
        )
    told = ", ".join(f"{format_} {roof / 1e9:,.0f}" for format_, roof in roofs.items())
    lines.append(f"\n{tokens:,} tokens. Roofs, in milliards of operations a second: {told}.\n")
    return "\n".join(lines)


def _operations(name: str) -> int:
    """Count the operations of a token's products with weights; attention is left out."""
    layers = 12 if name == NAME else 6
    return 2 * layers * 12 * 384 * 384


def _roofs() -> dict[str, float]:
    """Measure the operations a second of a big product, by format."""
    import torch

    matrix = torch.randn(SIDE, SIDE)
    half = matrix.bfloat16()
    packed = torch.ops.mkldnn._reorder_linear_weight(half, SIDE)
    whole = Product.of(matrix, torch.zeros(SIDE), Scale(0.1, 128))
    integers = torch.randint(0, 255, (1, SIDE, SIDE)).to(torch.uint8)
    products: dict[str, Callable[[], Any]] = {
        "float32": lambda: matrix @ matrix,
        "bfloat16": lambda: torch.ops.mkldnn._linear_pointwise(
            half, packed, None, "none", [], "none"
        ),
        "int8": lambda: whole(integers, torch.float32),
    }
    seconds: dict[str, list[float]] = {name: [] for name in products}
    for _ in range(ROUNDS + 1):
        for name, product in products.items():
            began = perf_counter()
            product()
            seconds[name].append(perf_counter() - began)
    return {name: 2 * SIDE**3 / median(times[1:]) for name, times in seconds.items()}


def _quality(sides: Sequence[Side]) -> str:
    """Tell what each format loses."""
    sets = (*_sets(), cranfield())
    lines = [
        f"| nDCG@10 | {' | '.join(labelled.name for labelled in sets)} | cosine |",
        "|---|" + "---|" * (len(sets) + 1),
    ]
    first: list[Any] = []
    for side in sides:
        scores, vectors = [], []
        for labelled in sets:
            score, embedded = _ndcg(side, labelled)
            scores.append(f"{score:.4f}")
            vectors.append(embedded)
        every = np.concatenate(vectors)
        first = first or [every]
        cosines = (every * first[0]).sum(1)
        lines.append(
            f"| {side.name} | {' | '.join(scores)} | {cosines.mean():.4f}, {cosines.min():.4f} |"
        )
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def _whole() -> str:
    """Tell what ragkit takes with each model, in processes of their own, in turns."""
    taken: dict[str, list[Whole]] = {NAME: [], MINILM: []}
    for _ in range(ROUNDS):
        for name, each in taken.items():
            command = (sys.executable, "-m", "benchmarks.embedding_once", name)
            result = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
            each.append(Whole(**json.loads(result.stdout)))
    lines = [
        "### The whole of ragkit\n",
        "Thirty small files in both languages are taken in, then everyday questions about them"
        " asked, without a language model, in one process; the embedding model is loaded before."
        " *Own* is the memory of the process alone, *mapped* that of files, which processes share;"
        " *disk* is that of the model's files.\n",
        "| model | chunks/s | a search, ms | an answer, ms | own, MB | mapped, MB | disk, MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, each in taken.items():
        figures = [
            median(one.chunks / one.ingest_s for one in each),
            median(one.search_s for one in each) * 1000,
            median(one.ask_s for one in each) * 1000,
            *(
                median(getattr(one, of) for one in each)
                for of in ("own_mb", "shared_mb", "disk_mb")
            ),
        ]
        lines.append(f"| {name} | {' | '.join(f'{figure:,.0f}' for figure in figures)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def _ndcg(side: Side, labelled: LabelledSet) -> tuple[float, Any]:
    embedder = LocalEmbedder(NAME)
    names = list(labelled.documents)[:DOCUMENTS]
    asked = [q for q in labelled.questions if not q.relevant.keys().isdisjoint(names)]
    vectors = side.passages([cut_to_model(embedder, labelled.documents[name]) for name in names])
    scores = []
    for question in asked[:: -(-len(asked) // QUESTIONS)]:
        found = dict(zip(names, (vectors @ side.query(question.text)).tolist(), strict=True))
        relevant = {name: grade for name, grade in question.relevant.items() if name in found}
        scores.append(ndcg(relevant, found, k=10))
    return fmean(scores), vectors


def _sets() -> tuple[LabelledSet, LabelledSet]:
    return cmrc(), clapnq_answerable()


def _passages() -> list[str]:
    return [
        text for labelled in _sets() for text in [*labelled.documents.values()][: PASSAGES // 2]
    ]
