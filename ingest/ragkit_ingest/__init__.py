"""Files to chunks in the database."""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_ingest.run.report import Failure as Failure
    from ragkit_ingest.run.report import IngestReport as IngestReport
    from ragkit_ingest.run.run import ingest as ingest
    from ragkit_ingest.sources.text import Text as Text
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit_ingest.run.report": "Failure IngestReport",
            "ragkit_ingest.run.run": "ingest",
            "ragkit_ingest.sources.text": "Text",
        },
    )
