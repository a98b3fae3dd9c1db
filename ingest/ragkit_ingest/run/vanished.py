"""What was made of files that are not where they were: deleted, unless nothing at all is there.

It knows nothing of how places are listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragkit_ingest.sources.skipped import is_in

if TYPE_CHECKING:
    from ragkit.store.postgres import PostgresStore
    from ragkit_ingest.run.tally import Tally
    from ragkit_ingest.sources import Listing


def delete_vanished(
    store: PostgresStore,
    collection: str,
    listing: Listing,
    tally: Tally,
    *,
    but_in: Sequence[str] = (),
) -> None:
    """Delete what is stored and was not found again where it came from.

    What is in archives, or in files of records, that `but_in` names is left to others.
    """
    gone = [
        uri
        for uri in store.named(collection)
        if uri not in tally.found
        and listing.covers(uri)
        and not any(is_in(uri, whole) for whole in but_in)
    ]
    if gone:
        tally.count(deleted=store.delete_uris(collection, gone))


def tell_of_kept(store: PostgresStore, collection: str, listing: Listing, tally: Tally) -> None:
    """Count as failures the places that nothing was in though documents came from there."""
    stored = store.named(collection) if listing.empty else {}
    for place in listing.empty:
        if count := sum(is_in(uri, place) for uri in stored):
            tally.failed(
                place,
                "read",
                f"there is nothing in it now, and {count} documents are from there: none was"
                " deleted, because a drive that is not mounted looks like this. If they are to go,"
                " use `ragkit documents delete`.",
            )
