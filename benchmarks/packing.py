"""Prompts: what a prefix cache keeps of them, and their tokens against two peers' defaults.

All sides embed with the same model; tokens are those of one tokenizer trained on the documents.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import prefix
from benchmarks.data import chunking, clapnq_answerable, clapnq_unanswerable, cmrc, knowledge_base
from benchmarks.environment import peer_python
from ragkit import KnowledgeBase
from ragkit.answer.meaning import cut_to_model
from ragkit.contracts import Embedder
from ragkit.prompts.messages import build_prompt
from ragkit_eval.sets import LabelledSet, Question

HERE = Path(__file__).resolve().parent
EVERY = 11  # of CMRC's questions, one in so many: about as many as CLAPNQ has
MOST = 10  # of ragkit's passages
Tokens = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class Packed:
    """What a system's prompts hold: the share with a gold answer inside, and their mean tokens."""

    recall: float
    tokens: float


def run() -> str:
    texts = [*cmrc().documents.values(), *clapnq_answerable().documents.values()]
    texts += [chunking().documents[name] for name in prefix.ENGLISH]
    tokenizer = prefix.tokenizer(texts)

    def tokens(asked: Sequence[str]) -> list[int]:
        return [len(encoding.ids) for encoding in tokenizer.encode_batch(list(asked))]

    return "\n".join([prefix.section(tokenizer), *_against_peers(tokens)]) + "\n"


def _against_peers(tokens: Tokens) -> list[str]:
    lines = [
        "### Tokens per prompt\n",
        "At equal recall, a gold answer inside the prompt's context (CLAPNQ: one of the marked"
        " sentences, whole). LangChain: RecursiveCharacterTextSplitter of 1000 and 200 characters,"
        " 4 chunks, the prompt of its retrieval chain; LlamaIndex: SentenceSplitter of 1024 and"
        " 200 tokens, 2 nodes, its chat prompt for questions; both by nearest vectors alone, as is"
        " their default. ragkit: as few passages as reach the peer's recall, found by both legs."
        " All embed with MiniLM, which hardly reads Chinese: the ratios for CMRC 2018 come from the"
        " lexical leg, not from the prompt.\n",
        "| set | peer | its recall | its tokens | ragkit's recall | ragkit's tokens | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for labelled, others in ((clapnq_answerable(), [clapnq_unanswerable()]), (cmrc(), [])):
        questions = labelled.questions if others else labelled.questions[::EVERY]
        documents = [text for one in (labelled, *others) for text in one.documents.values()]
        peers = _peers(documents)
        with knowledge_base(labelled, *others) as kb:
            ours = _ragkit(kb, questions, tokens)
            for name, peer in peers.items():
                theirs = _peer(peer, questions, kb.embedder, tokens)
                lines.append(_row(labelled, name, theirs, ours))
                print(lines[-1], flush=True)
    return lines


def _row(labelled: LabelledSet, name: str, theirs: Packed, ours: Sequence[Packed]) -> str:
    reached = [packed for packed in ours if packed.recall >= theirs.recall]
    same = reached[0] if reached else ours[-1]
    k = ours.index(same) + 1
    return (
        f"| {labelled.name} | {name} | {theirs.recall:.3f} | {theirs.tokens:.0f} |"
        f" {same.recall:.3f} with {k} | {same.tokens:.0f} | {same.tokens / theirs.tokens:.2f} |"
    )


def _ragkit(kb: KnowledgeBase, questions: Sequence[Question], tokens: Tokens) -> list[Packed]:
    """Pack the first 1, 2, ... passages found."""
    found = [kb.search(question.text, k=MOST) for question in questions]
    packed = []
    for k in range(1, MOST + 1):
        prompts = [
            build_prompt(question.text, hits[:k], budget_tokens=10**6, count=tokens)
            for question, hits in zip(questions, found, strict=True)
        ]
        contexts = ["\n\n".join(hit.text for hit in prompt.used) for prompt in prompts]
        written = ["\n".join(m.content for m in prompt.messages) for prompt in prompts]
        packed.append(_packed(questions, contexts, tokens(written)))
    return packed


def _peer(
    peer: dict[str, object], questions: Sequence[Question], embedder: Embedder, tokens: Tokens
) -> Packed:
    chunks, prompt = peer["chunks"], peer["prompt"]
    k = peer["k"]
    assert isinstance(chunks, list)
    assert isinstance(prompt, str)
    assert isinstance(k, int)
    vectors = embedder.embed_passages([cut_to_model(embedder, chunk) for chunk in chunks])
    contexts, written = [], []
    for question in questions:
        nearest = np.argsort(-(vectors @ embedder.embed_query(question.text)))[:k]
        contexts.append("\n\n".join(chunks[index] for index in nearest))
        filled = prompt.replace("{context}", contexts[-1]).replace("{question}", question.text)
        written.append(filled)
    return _packed(questions, contexts, tokens(written))


def _packed(questions: Sequence[Question], contexts: Sequence[str], counts: list[int]) -> Packed:
    inside = [
        any(" ".join(gold.split()) in " ".join(context.split()) for gold in question.answers)
        for question, context in zip(questions, contexts, strict=True)
    ]
    return Packed(sum(inside) / len(inside), sum(counts) / len(counts))


def _peers(documents: Sequence[str]) -> dict[str, dict[str, object]]:
    """Have the peers cut the documents, in their own environment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "documents.json")
        path.write_text(json.dumps(documents), encoding="utf-8")
        command = [str(peer_python("packing")), str(HERE / "peers/packing_peers.py"), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the peers failed:\n{done.stderr[-2000:]}")
    peers: dict[str, dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return peers
