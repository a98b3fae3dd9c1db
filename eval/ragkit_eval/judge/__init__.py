"""Judges of answers: each verdict is a score with a reason; a failure is never a silent zero.

A judge may decide whether a change ships only after `ragkit eval judge-check` has measured its
agreement with people.
"""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_eval.judge.judge import Judge as Judge
    from ragkit_eval.judge.judge import Verdict as Verdict
    from ragkit_eval.judge.judge_by_name import open_judge as open_judge
    from ragkit_eval.judge.judged_task import judged_ask as judged_ask
    from ragkit_eval.judge.judged_task import with_judge as with_judge
    from ragkit_eval.judge.model import LanguageModelJudge as LanguageModelJudge
    from ragkit_eval.judge.schema_reply import ParseFailure as ParseFailure
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit_eval.judge.schema_reply": "ParseFailure",
            "ragkit_eval.judge.judge": "Judge Verdict",
            "ragkit_eval.judge.judged_task": "judged_ask with_judge",
            "ragkit_eval.judge.model": "LanguageModelJudge",
            "ragkit_eval.judge.judge_by_name": "open_judge",
        },
    )
