"""Questions divided by clusters of documents, for rows of prompts and answers.

What rows of chats and of preferences share: whose documents a prompt may show, which questions
prove the model, and what the card says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import UsageError
from ragkit_tune.data.card import PRIVATE
from ragkit_tune.data.checks import (
    ASKED_IN_TEST,
    BLANK,
    DUPLICATE,
    FEWEST,
    OTHER_SPLIT,
    UNWANTED_LANGUAGE,
    check_faults,
)
from ragkit_tune.data.clusters import DEV_SHARE, TRAIN_SHARE, Clusters, Division, divide
from ragkit_tune.data.labelled import CHANGED, GONE, SPLIT_UP, label_line
from ragkit_tune.data.questions import Question, drawn_share, folded

if TYPE_CHECKING:
    from ragkit.types import Hit
    from ragkit_tune.data.data_set import Split

NO_ANSWER: Final = "no answer is known or could be written"
UNSUPPORTED: Final = "its answer is not supported by its passages"
NO_ROOM: Final = "its passages do not fit into a prompt"
NO_OTHERS: Final = "no passage that does not answer it was found"
FAULTS: Final = frozenset({BLANK, GONE, CHANGED, SPLIT_UP, UNSUPPORTED, NO_ROOM})
# A passage of the test's documents in a prompt is trained on.
_SHOWN: Final[Mapping[Split, Sequence[Split]]] = {
    "train": ("train",),
    "dev": ("train", "dev"),
    "test": ("train", "dev", "test"),
}

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Collected:
    """Questions with their splits; `left_out` counts others by the reason."""

    items: Sequence[tuple[Question, Split]]
    clusters: Clusters
    division: Division
    left_out: Counter[str] = field(default_factory=Counter)

    def of(self, *splits: Split) -> list[tuple[Question, Split]]:
        """List the questions of some splits."""
        return [(item, split) for item, split in self.items if split in splits]

    def is_allowed(self, split: Split) -> Callable[[Hit], bool]:
        """Return what tells whether a passage may stand in a prompt of a split."""

        def is_allowed(hit: Hit) -> bool:
            cluster = self.clusters.of.get(hit.uri, "")
            return self.division.of_cluster.get(cluster, "test") in _SHOWN[split]

        return is_allowed

    def group(self, item: Question) -> str:
        """Return the group of a question: its own, or its document's cluster."""
        if item.group or not item.places:
            return item.group or folded(item.text)
        return self.clusters.of[item.places[0].passage.uri]


def collect(
    items: Sequence[Question],
    clusters: Clusters,
    left_out: Counter[str],
    *,
    language: str,
    seed: int,
) -> Collected:
    """Divide questions by clusters; each text is asked in one split alone."""
    passing: dict[tuple[str, str], Question] = {}
    for item in items:
        key = (folded(item.text), item.answer)
        if not key[0]:
            left_out[BLANK] += 1
        elif language and (item.language or language) != language:
            left_out[UNWANTED_LANGUAGE] += 1
        elif key in passing:
            left_out[DUPLICATE] += 1
        else:
            passing[key] = item
    answerable = [item for item in passing.values() if item.places]
    if not answerable:
        raise UsageError(_too_few(0))
    division = divide(answerable, clusters, seed)
    divided = list(zip(answerable, division.of_question, strict=True))
    divided += [(item, _drawn_split(item, seed)) for item in passing.values() if not item.places]
    homes: dict[str, Split] = {}
    for split in ("train", "dev", "test"):  # the last wins
        homes |= {folded(item.text): split for item, its_split in divided if its_split == split}
    undivided = Collected((), clusters, division)
    remaining = []
    for item, split in divided:
        is_allowed = undivided.is_allowed(split)
        if homes[folded(item.text)] != split:
            left_out[ASKED_IN_TEST] += 1
        elif not all(is_allowed(place.passage) for place in item.places):
            left_out[OTHER_SPLIT] += 1
        else:
            remaining.append((item, split))
    return Collected(remaining, clusters, division, left_out)


def _drawn_split(item: Question, seed: int) -> Split:
    share = drawn_share(seed, "split", item.group or folded(item.text))
    if share < TRAIN_SHARE:
        return "train"
    return "dev" if share < TRAIN_SHARE + DEV_SHARE else "test"


def check_counts(rows: int, left_out: Counter[str], *, fewest: int, allow_dropped: bool) -> None:
    """Raise UsageError for too few rows, and when over a tenth is left out by faults."""
    check_faults(rows, left_out, FAULTS, allow_dropped=allow_dropped)
    if rows < fewest:
        raise UsageError(_too_few(rows, fewest, left_out))


def _too_few(rows: int, fewest: int = FEWEST, left_out: Counter[str] | None = None) -> str:
    why = ", ".join(f"{reason} ({n})" for reason, n in (left_out or Counter()).most_common(3))
    return (
        f"only {rows} rows could be made{f' ({why})' if why else ''}: a model needs {fewest} at"
        " least: let people rate answers (`ragkit conversations feedback`), write a labelled set"
        " with answers and pass --set, or name a language model that writes them (RAGKIT_LLM_URL)"
    )


def test_lines(collected: Collected) -> list[dict[str, Any]]:
    """Write the questions of the test as a labelled set of `ragkit eval`, each once."""
    lines: dict[str, dict[str, Any]] = {}
    for item, _ in collected.of("test"):
        lines.setdefault(folded(item.text), label_line(item, collected.group(item)))
    return list(lines.values())


def make_card(collected: Collected, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the card without the counts and hashes, which are written with the files."""
    clusters, left_out = collected.clusters, collected.left_out
    trained = {place.passage.uri for item, _ in collected.of("train") for place in item.places}
    return {
        **facts,
        "clusters": {"all": clusters.count, "documents": len(clusters.of)},
        "how": dict(Counter(item.how for item, _ in collected.items)),
        "left_out": dict(sorted(left_out.items(), key=lambda pair: (-pair[1], pair[0]))),
        "faults": sum(n for reason, n in left_out.items() if reason in FAULTS),
        "trained_documents": len(trained),
        "private": PRIVATE,
    }


def describe_card(card: Mapping[str, Any]) -> str:
    """Return the card in plain words, as Markdown."""
    counts = card["counts"]
    lines = [
        f"# Rows of kind {card['rows']}, from collection {card['collection']}",
        "",
        f"{counts['train']} rows to train on, {counts['dev']} to choose a checkpoint by,"
        f" {counts['test']} questions to prove the model by.",
        "",
        f"- Prompts: version {', '.join(card['prompts'])}; an adapter answers best to the same",
        f"- Questions: {_listed(card['how'])}",
        f"- Refusals: {card['refusals']} rows",
    ]
    if card["written_by"]:
        lines.append(
            f"- Written by the model {card['written_by']}: see whether its terms allow you to train"
            " on what it writes. Do not let the same model judge the result."
        )
    lines.append(f"- Left out: {_listed(card['left_out']) or 'nothing'}")
    lines.append(f"- Seed: {card['seed']}. Hash: `{card['hash']}`")
    lines.append(f"- {card['private']}")
    return "\n".join(lines) + "\n"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
