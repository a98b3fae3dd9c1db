"""What an ingestion would do, without doing it: nothing is parsed, embedded or written.

It knows nothing of stages or jobs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from ragkit.errors import NotFoundError
from ragkit_ingest.parser.pool import ParserPool
from ragkit_ingest.run.recipe import fingerprints_of, options_in
from ragkit_ingest.run.run import limits
from ragkit_ingest.run.skip_rules import passed_over
from ragkit_ingest.run.skipped import SkippedFiles
from ragkit_ingest.run.steps import read
from ragkit_ingest.run.unpacking import unpacked
from ragkit_ingest.sources import SourceOptions, find
from ragkit_ingest.sources.places import Places, several

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.postgres import PostgresStore

What = Literal["add", "update", "delete", "fail"]


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be done with what: (URI, what, why) in order; what would be left alone."""

    would: tuple[tuple[str, What, str], ...]
    unchanged: int
    skipped: SkippedFiles

    def count(self, what: What) -> int:
        return sum(1 for _, done, _ in self.would if done == what)

    def as_json(self) -> dict[str, object]:
        """Return the shape that `ragkit ingest --dry-run --json` prints."""
        return {
            "dry_run": True,
            "documents": {
                "added": self.count("add"),
                "updated": self.count("update"),
                "unchanged": self.unchanged,
                "deleted": self.count("delete"),
                "failed": self.count("fail"),
            },
            "would": [{"uri": uri, "what": what, "reason": why} for uri, what, why in self.would],
            "skipped": self.skipped.reasons.total(),
            "skipped_by_reason": dict(self.skipped.reasons),
            "skipped_files": [asdict(file) for file in self.skipped.named],
        }


def preview(
    places: Places,
    *,
    settings: Settings | None = None,
    collection: str | None = None,
    sources: SourceOptions | None = None,
    sync: bool = False,
    force: bool = False,
) -> Preview:
    """Tell what `ingest` would do with the same arguments; raises what it raises."""
    from ragkit.knowledge.embedders import Embedders
    from ragkit.settings.settings import load_settings
    from ragkit.store.open import open_database

    settings = settings or load_settings()
    name = collection or settings.collection
    listing = find(several(places), sources, settings=settings)
    would: list[tuple[str, What, str]] = []
    unchanged, passed = 0, SkippedFiles()
    found: set[str] = set()
    with open_database(settings) as database, ParserPool(1, limits(settings)) as parsers:
        store = database.store(settings.tenant)
        known = _known(store, name)
        made = fingerprints_of(Embedders(settings), store, name) if known else frozenset()
        options = options_in(settings, store, name)
        max_bytes = settings.max_file_mb << 20
        for item in unpacked(listing, parsers, max_bytes):
            if item.uri in found:
                continue
            found.add(item.uri)
            if reason := passed_over(item, options):
                passed.add(item.uri, reason)
                continue
            source = read(item, max_bytes=max_bytes)
            content, by = known.get(item.uri, ("", ""))
            if source.error:
                would.append((item.uri, "fail", source.error.reason))
            elif content == source.content_hash and by in made and not force:
                unchanged += 1
            else:
                would.append((item.uri, "update" if item.uri in known else "add", ""))
    if sync:
        gone = sorted(uri for uri in known if uri not in found and listing.covers(uri))
        would += [(uri, "delete", "") for uri in gone]
    return Preview(tuple(would), unchanged, listing.skipped + passed)


def _known(store: PostgresStore, collection: str) -> dict[str, tuple[str, str]]:
    try:
        return dict(store.known(collection))
    except NotFoundError:  # it would be made
        return {}
