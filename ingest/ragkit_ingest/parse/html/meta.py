"""Metadata in the head of a page: author, dates, language, description."""

from __future__ import annotations

from collections.abc import Mapping

from ragkit_ingest.parse.dates import iso_date

# By key of ours: the names that pages use, best first.
_NAMES = {
    "author": (
        "author",
        "article:author",
        "dc.creator",
        "dcterms.creator",
        "byl",
        "parsely-author",
    ),
    "created": (
        "article:published_time",
        "datepublished",
        "dcterms.created",
        "dc.date.created",
        "dcterms.issued",
        "dc.date",
        "dcterms.date",
        "date",
        "pubdate",
        "publish-date",
    ),
    "modified": (
        "article:modified_time",
        "datemodified",
        "dcterms.modified",
        "og:updated_time",
        "last-modified",
        "revised",
    ),
    "description": ("description", "og:description", "dc.description"),
}
_DATES = frozenset({"created", "modified"})
_TITLES = ("og:title", "twitter:title", "dc.title")
_MAX_TAGS = 500  # arbitrary
_MAX_CHARS = 1000  # arbitrary; metadata is a label, not a text


class Head:
    """Collects a page's meta tags."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}
        self.language = ""

    def take(self, attributes: Mapping[str, str]) -> None:
        """Note a meta tag; the first of a name wins."""
        content = " ".join((attributes.get("content") or "")[:_MAX_CHARS].split())
        for key in ("name", "property", "itemprop", "http-equiv"):
            name = (attributes.get(key) or "").strip().lower()
            if name and content and len(self._found) < _MAX_TAGS:
                self._found.setdefault(name, content)

    @property
    def titles(self) -> list[str]:
        """The titles for other sites, best first, in case the page has no other."""
        return [self._found[name] for name in _TITLES if name in self._found]

    def metadata(self) -> dict[str, str]:
        """Return what is known, dates as ISO 8601; what cannot be read as a date is left out."""
        metadata: dict[str, str] = {}
        for key, names in _NAMES.items():
            values = (self._found[name] for name in names if name in self._found)
            if key in _DATES:
                values = (date for date in map(iso_date, values) if date)
            elif key == "author":
                values = (value for value in values if "://" not in value)  # a profile's address
            value = next(values, "")
            if value:
                metadata[key] = value
        if self.language:
            metadata["lang"] = self.language
        return metadata
