"""Open a judge by name: the language model of the settings, or "module:attribute"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Final

from ragkit.errors import SettingsError, UsageError
from ragkit_eval.judge.certificate import find, mark
from ragkit_eval.judge.judge import Dimension, Judge, Verdict
from ragkit_eval.judge.schema_reply import ParseFailure

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings

NAMES: Final[dict[str, Dimension]] = {
    "llm": "correctness",
    "llm:correctness": "correctness",
    "llm:faithfulness": "faithfulness",
    "llm:quality": "quality",
}


@dataclass(frozen=True)
class WrappedJudge:
    """A judge that delegates to another judge."""

    inner: Judge

    @property
    def signature(self) -> str:
        return self.inner.signature

    @property
    def dimension(self) -> Dimension:
        return self.inner.dimension

    def judge(
        self, question: str, answer: str, passages: Sequence[str], references: Sequence[str]
    ) -> Verdict | ParseFailure:
        return self.inner.judge(question, answer, passages, references)


@dataclass(frozen=True)
class MarkedJudge(WrappedJudge):
    """A judge whose signature ends with the result of its check."""

    mark: str

    @property
    def signature(self) -> str:
        """Return the inner judge's signature with the mark at its end."""
        return f"{self.inner.signature}|{self.mark}"


@dataclass(frozen=True)
class PluggedJudge(WrappedJudge):
    """A custom judge by its name; the type of its verdicts is checked."""

    name: str

    def judge(
        self, question: str, answer: str, passages: Sequence[str], references: Sequence[str]
    ) -> Verdict | ParseFailure:
        """Judge an answer. Raises UsageError for a result that is no Verdict or ParseFailure."""
        verdict: object = super().judge(question, answer, passages, references)
        if not isinstance(verdict, Verdict | ParseFailure):
            raise UsageError(
                f"the judge {self.name!r} returned {verdict!r:.60}: it must return a Verdict or a"
                " ParseFailure"
            )
        return verdict


def open_judge(name: str, settings: Settings) -> Judge:
    """Return a judge by its name; its signature ends with the result of its check.

    "llm" is the language model of the settings and judges correctness, "llm:faithfulness" judges
    by the passages, "llm:quality" whether the question is answered well. "module:attribute" is a
    function of the settings that returns a judge. The signature ends with
    "checked:kappa=0.71,n=120" if `ragkit eval judge-check` measured the judge to be usable, with
    "failed:kappa=..." if not, and else with "unchecked". Raises UsageError for an unknown name,
    SettingsError for "llm" without a language model.
    """
    judge = unmarked_judge(name, settings)
    return MarkedJudge(judge, mark(find(judge.signature, settings.home)))


def unmarked_judge(name: str, settings: Settings) -> Judge:
    """Return a judge by its name, without its certificate."""
    if name in NAMES:
        return _language_model_judge(NAMES[name], settings)
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute or module == "llm":
        close = get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"use {', '.join(NAMES)}"
        raise UsageError(
            f"there is no judge {name!r}: {hint} or module:attribute for a judge of your own"
        )
    return _plugged_in(name, module, attribute, settings)


def _language_model_judge(dimension: Dimension, settings: Settings) -> Judge:
    from ragkit.knowledge import build
    from ragkit_eval.judge.model import LanguageModelJudge

    model = build.language_model(settings)
    if model is None:
        raise SettingsError("the judge 'llm' needs a language model: set RAGKIT_LLM_URL")
    return LanguageModelJudge(model, dimension)


def _plugged_in(name: str, module: str, attribute: str, settings: Settings) -> Judge:
    try:
        make = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"the judge {name!r} cannot be loaded: {error}: correct it") from error
    try:
        judge: Judge = make(settings) if callable(make) else make
    except TypeError as error:
        raise UsageError(
            f"the judge {name!r} cannot be made: {error}: write a function of the settings"
        ) from error
    if not callable(getattr(judge, "judge", None)) or not isinstance(
        getattr(judge, "signature", None), str
    ):
        raise UsageError(
            f"{name!r} returns {type(judge).__name__}, which is no judge: return an object with"
            " judge(), signature and dimension"
        )
    if getattr(judge, "dimension", None) not in NAMES.values():
        raise UsageError(
            f"the judge {name!r} has no dimension: name one of"
            f" {', '.join(dict.fromkeys(NAMES.values()))}"
        )
    return PluggedJudge(judge, name)
