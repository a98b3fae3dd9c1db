"""Clusters of documents that say nearly the same, and the split of a collection by cluster.

A model is proven on documents that it was not trained on; a copy with a few changes is no other
document. The split goes by the seed and the texts alone: adding a document moves no other, and the
same documents in another folder are divided alike.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ragkit.errors import UsageError
from ragkit.text.near_duplicates import bands, signature, similarity
from ragkit_tune.data.data_set import SPLITS, Split
from ragkit_tune.data.questions import Question, digest, drawn_share
from ragkit_tune.data.sources import Sources

# Of the runs of words that two texts share. 16 bands of 8 find 95% of the pairs at 0.8.
NEAR: Final = 0.8
TRAIN_SHARE: Final = 0.7
DEV_SHARE: Final = 0.1
TEST_SHARE: Final = 0.2
# Of the questions, what a split drawn by chance may have; arbitrary. That of the test goes by its
# share: 0.12 to 0.4 for the usual one.
TEST_BOUNDS: Final = (0.6, 2.0)
DEV_BOUNDS: Final = (0.08, 0.2)
# A sign-flip test of 5 clusters never gets below p = 2 / 2**5 = .06; of 6 it gets to .03.
TEST_CLUSTERS: Final = 6


class NearTexts:
    """Finds texts that are nearly the same as one of a growing number of texts."""

    def __init__(self) -> None:
        self._signatures: list[bytes] = []
        self._bands: dict[int, list[int]] = defaultdict(list)

    def add(self, sign: bytes) -> None:
        """Add a text by its signature; it is known by how many were added before it."""
        for band in bands(sign):
            self._bands[band].append(len(self._signatures))
        self._signatures.append(sign)

    def near(self, sign: bytes) -> list[int]:
        """List the added texts whose similarity to this signature is at least `NEAR`."""
        candidates = {n for band in bands(sign) for n in self._bands.get(band, ())}
        return [n for n in sorted(candidates) if similarity(sign, self._signatures[n]) >= NEAR]


@dataclass(frozen=True, slots=True)
class Clusters:
    """The cluster of each document, by URI.

    A cluster is named by a hash of one of its texts, so that its name says nothing of its place.
    """

    of: Mapping[str, str]

    @property
    def count(self) -> int:
        """Count the clusters."""
        return len(set(self.of.values()))


@dataclass(frozen=True, slots=True)
class Division:
    """The split of each cluster, and of each question, in their order."""

    of_cluster: Mapping[str, Split]
    of_question: Sequence[Split]


def cluster_documents(sources: Sources, progress: Callable[[int], None]) -> Clusters:
    """Unite near duplicates. Raises UsageError when that leaves fewer than two clusters."""
    near, union = NearTexts(), _Union()
    names: list[str] = []
    for document in sources.documents:
        text = sources.store.text(document.id)
        sign, name = signature(text), digest(text)[:16]
        union.find(name)
        for n_near in near.near(sign):
            union.join(names[n_near], name)
        near.add(sign)
        names.append(name)
        progress(len(names))
    uris = [document.uri for document in sources.documents]
    clusters = Clusters({uri: union.find(name) for uri, name in zip(uris, names, strict=True)})
    if clusters.count < 2:
        state = "has one document" if len(uris) == 1 else f"has {len(uris)} near-duplicates"
        raise UsageError(
            f"collection {sources.collection!r} {state}: a model cannot be proven on documents that"
            " it was not trained on: ingest others"
        )
    return clusters


def divide(
    questions: Sequence[Question], clusters: Clusters, seed: int, test_share: float = TEST_SHARE
) -> Division:
    """Divide clusters and questions into train, dev and test.

    `test_share` of them become test, a tenth dev, the others train, as chance and groups have it.

    A question goes with the cluster of its first passage, and with all questions of its group. The
    clusters of a test question's other documents are test too, and those of a dev question dev.
    Raises UsageError when groups tie all questions together.
    """
    union = _Union()
    homes = [clusters.of[question.places[0].passage.uri] for question in questions]
    for question, home in zip(questions, homes, strict=True):
        union.find(home)
        if question.group:
            union.join(home, f"\0{question.group}")
    units = _draw_units(Counter(union.find(home) for home in homes), seed, test_share)
    of_question = [units[union.find(home)] for home in homes]
    of_cluster = {name: _draw(seed, name, test_share) for name in set(clusters.of.values())}
    for split in ("train", "dev", "test"):  # the last wins
        for question, its_split in zip(questions, of_question, strict=True):
            if its_split == split:
                of_cluster |= {clusters.of[uri]: split for uri in question.uris}
    return Division(of_cluster, of_question)


def _draw_units(weights: Mapping[str, int], seed: int, test_share: float) -> dict[str, Split]:
    """Draw a split for each unit, whose questions are counted, and mend what chance made uneven.

    Only a small collection needs that; there, another document may move one.
    """
    if len(weights) < 2:
        raise UsageError(
            "all questions are about one document, its near-duplicates, or one group: there is"
            " nothing to prove a model on: ingest others, or make the groups smaller"
        )
    ordered = sorted(weights, key=lambda name: drawn_share(seed, "split", name))
    if len(ordered) == 2:
        return {ordered[0]: "train", ordered[1]: "test"}
    units = {name: _draw(seed, name, test_share) for name in ordered}
    units[ordered[0]] = "train"
    limit = max(1, len(units) // 2 - 1)
    low, high = (bound * test_share for bound in TEST_BOUNDS)
    bounds = (low, min(high, (1 + test_share) / 2))
    _fill(units, weights, ordered[::-1], "test", bounds, min(TEST_CLUSTERS, limit))
    _fill(units, weights, ordered[::-1], "dev", DEV_BOUNDS, 1)
    return units


def _fill(
    units: dict[str, Split],
    weights: Mapping[str, int],
    ordered: Sequence[str],
    split: Split,
    bounds: tuple[float, float],
    fewest: int,
) -> None:
    """Move units to a split, the nearest first, until it is neither small nor large.

    It gets `fewest` units at least, and leaves every other split one.
    """
    total = sum(weights.values())

    def listed(name: Split) -> list[str]:
        return [unit for unit in ordered if units[unit] == name]

    def share() -> float:
        return sum(weights[unit] for unit in listed(split)) / total

    while len(listed(split)) < fewest or share() < bounds[0]:
        # Of three documents or so, chance may have given train a single one and dev the others.
        donor: Split = "train" if len(listed("train")) > 1 else "dev" if split == "test" else "test"
        if len(listed(donor)) < 2:
            break
        units[listed(donor)[0]] = split
    while len(listed(split)) > fewest and share() > bounds[1]:
        units[listed(split)[-1]] = "train"


def _draw(seed: int, name: str, test_share: float) -> Split:
    share = drawn_share(seed, "split", name)
    if share >= 1 - test_share:
        return SPLITS[2]
    return SPLITS[1] if share >= 1 - test_share - DEV_SHARE else SPLITS[0]


class _Union:
    """Sets that are joined step by step, each named by its first member in order."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def find(self, name: str) -> str:
        root = self._parents.setdefault(name, name)
        while self._parents[root] != root:
            root = self._parents[root]
        while self._parents[name] != root:
            self._parents[name], name = root, self._parents[name]
        return root

    def join(self, first: str, second: str) -> None:
        first, second = sorted((self.find(first), self.find(second)))
        self._parents[second] = first
