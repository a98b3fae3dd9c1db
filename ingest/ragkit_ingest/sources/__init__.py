"""Sources of items: files, folders, archives, records, remote stores, web pages.

A source yields items and knows which stored documents it answers for.
"""

from __future__ import annotations

from ragkit_ingest.sources.containers import expanded as expanded
from ragkit_ingest.sources.files import uri_of as uri_of
from ragkit_ingest.sources.items_of_file import RecordFile as RecordFile
from ragkit_ingest.sources.listing import Listing as Listing
from ragkit_ingest.sources.options import RecordFields as RecordFields
from ragkit_ingest.sources.options import SourceOptions as SourceOptions
from ragkit_ingest.sources.places import find as find
from ragkit_ingest.sources.values import pairs as pairs
