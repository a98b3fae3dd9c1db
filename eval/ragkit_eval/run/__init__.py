"""Ask the items of tasks, and write each outcome to a run file."""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_eval.run.evaluation import evaluate as evaluate
    from ragkit_eval.run.evaluation import run_async as run_async
    from ragkit_eval.run.header import make_header as make_header
    from ragkit_eval.run.keys import key_maker as key_maker
    from ragkit_eval.run.progress import shown_progress as shown_progress
    from ragkit_eval.run.runner import Counts as Counts
    from ragkit_eval.run.runner import run_items as run_items
    from ragkit_eval.run.summary import Summary as Summary
    from ragkit_eval.run.summary import summarise as summarise
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit_eval.run.evaluation": "evaluate run_async",
            "ragkit_eval.run.header": "make_header",
            "ragkit_eval.run.keys": "key_maker",
            "ragkit_eval.run.progress": "shown_progress",
            "ragkit_eval.run.runner": "Counts run_items",
            "ragkit_eval.run.summary": "Summary summarise",
        },
    )
