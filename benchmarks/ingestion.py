"""Ingestion end to end against LangChain's parts: same files, same model, same PostgreSQL."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import psycopg
from psycopg import sql

from benchmarks.data import chunking, cmrc
from benchmarks.environment import peer_python
from ragkit.store.embedded import EmbeddedServer

HERE = Path(__file__).resolve().parent
ROUNDS = 3
CHINESE_PARAGRAPHS = 200
ENGLISH_CORPORA = ("state_of_the_union", "wikitexts", "pubmed")


def run() -> str:
    peer = peer_python("langchain")
    runs: dict[str, list[dict[str, float]]] = {"ragkit": [], "langchain": []}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        size = _write_files(Path(folder))
        with EmbeddedServer.open(Path(home, "home")) as server:
            for _ in range(ROUNDS):
                ours = [sys.executable, str(HERE / "peers/ragkit_ingest_once.py")]
                theirs = [str(peer), str(HERE / "peers/langchain_ingest.py")]
                runs["ragkit"].append(_measure(ours, server.url, folder))
                runs["langchain"].append(_measure(theirs, server.url, folder))
    return _table(runs, size)


def _table(runs: dict[str, list[dict[str, float]]], size: int) -> str:
    lines = [
        "## Ingestion\n",
        f"{size / 1e6:.2f} MB of text ({', '.join(ENGLISH_CORPORA)} of chunking_evaluation, and"
        f" {CHINESE_PARAGRAPHS} CMRC 2018 paragraphs), all-MiniLM-L6-v2, chunks of up to 254"
        f" tokens, models loaded before the clock; medians of {ROUNDS} interleaved runs. The"
        " peer is RecursiveCharacterTextSplitter, HuggingFaceEmbeddings and PGVectorStore, with no"
        " index on its vectors.\n",
        "| | chunks | seconds | chunks/s | KB/s |",
        "|---|---|---|---|---|",
    ]
    rates = {}
    for name, results in runs.items():
        seconds = statistics.median(result["seconds"] for result in results)
        chunks = results[0]["chunks"]
        rates[name] = chunks / seconds
        speeds = f"{rates[name]:.0f} | {size / 1e3 / seconds:.0f}"
        lines.append(f"| {name} | {chunks:.0f} | {seconds:.1f} | {speeds} |")
    ratios = [
        (ours["chunks"] / ours["seconds"]) / (theirs["chunks"] / theirs["seconds"])
        for ours, theirs in zip(runs["ragkit"], runs["langchain"], strict=True)
    ]
    again = statistics.median(result["again"] for result in runs["ragkit"])
    first = statistics.median(result["seconds"] for result in runs["ragkit"])
    lines += [
        "",
        f"Ratio of chunks/s, per round: {', '.join(f'{ratio:.1f}' for ratio in ratios)};"
        f" median {statistics.median(ratios):.1f}. A second run over the unchanged files took"
        f" {again:.2f} s, {first / again:.0f} times less than the first.",
    ]
    return "\n".join(lines) + "\n"


def _write_files(folder: Path) -> int:
    texts = {name: chunking().documents[name] for name in ENGLISH_CORPORA}
    texts |= dict(list(cmrc().documents.items())[:CHINESE_PARAGRAPHS])
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return sum(len(text.encode()) for text in texts.values())


def _measure(command: list[str], url: str, folder: str) -> dict[str, float]:
    """Run one side on a fresh database."""
    name = f"bench_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        parts = conn.info
        fresh = f"postgresql://{parts.user}@/{name}?host={parts.host}"
    with psycopg.connect(fresh, autocommit=True) as conn:
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAGKIT_")}
    done = subprocess.run(
        [*command, fresh, folder], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command[-1]} failed:\n{done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(f"{Path(command[-1]).stem}: {result}", flush=True)
    return result
