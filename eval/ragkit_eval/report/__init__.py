"""Write runs as a report: an HTML page, a Markdown summary, or a CSV table."""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_eval.report.page import html as html
    from ragkit_eval.report.report import compared as compared
    from ragkit_eval.report.rows import csv as csv
    from ragkit_eval.report.summary import markdown as markdown
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit_eval.report.page": "html",
            "ragkit_eval.report.report": "compared",
            "ragkit_eval.report.rows": "csv",
            "ragkit_eval.report.summary": "markdown",
        },
    )
