"""Judges of answers: each verdict is a score with a reason; a failure is never a silent zero.

A judge may decide whether a change ships only after `ragkit eval judge-check` has measured its
agreement with people.
"""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_eval.judge.bound import ParseFailure as ParseFailure
    from ragkit_eval.judge.judge import Judge as Judge
    from ragkit_eval.judge.judge import Verdict as Verdict
    from ragkit_eval.judge.judged import judged_ask as judged_ask
    from ragkit_eval.judge.judged import with_judge as with_judge
    from ragkit_eval.judge.model import LanguageModelJudge as LanguageModelJudge
    from ragkit_eval.judge.opening import open_judge as open_judge
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit_eval.judge.bound": "ParseFailure",
            "ragkit_eval.judge.judge": "Judge Verdict",
            "ragkit_eval.judge.judged": "judged_ask with_judge",
            "ragkit_eval.judge.model": "LanguageModelJudge",
            "ragkit_eval.judge.opening": "open_judge",
        },
    )
