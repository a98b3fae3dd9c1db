"""TypeScript with elements in it (.tsx)."""

from __future__ import annotations

from ragkit_ingest.parse.code.typescript import typescript

parse = typescript("language_tsx").parse
