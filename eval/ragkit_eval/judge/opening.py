"""A judge by its name: the language model of the settings, or one's own as "module:attribute"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Final

from ragkit.errors import SettingsError, UsageError
from ragkit_eval.judge.bound import ParseFailure
from ragkit_eval.judge.certificate import find, mark
from ragkit_eval.judge.judge import Dimension, Judge, Verdict

if TYPE_CHECKING:
    from ragkit.settings import Settings

NAMES: Final[dict[str, Dimension]] = {
    "llm": "correctness",
    "llm:correctness": "correctness",
    "llm:faithfulness": "faithfulness",
}


@dataclass(frozen=True)
class WrappedJudge:
    """A judge that does as another does."""

    of: Judge

    @property
    def signature(self) -> str:
        return self.of.signature

    @property
    def dimension(self) -> Dimension:
        return self.of.dimension

    def judge(
        self, question: str, answer: str, passages: Sequence[str], references: Sequence[str]
    ) -> Verdict | ParseFailure:
        return self.of.judge(question, answer, passages, references)


@dataclass(frozen=True)
class MarkedJudge(WrappedJudge):
    """A judge whose signature ends with what is known of its agreement with people."""

    mark: str

    @property
    def signature(self) -> str:
        """Return the judge's own signature and, last, how far it was checked."""
        return f"{self.of.signature}|{self.mark}"


@dataclass(frozen=True)
class PluggedJudge(WrappedJudge):
    """A judge from elsewhere, by its name; that it returns what a judge returns is checked."""

    name: str

    def judge(
        self, question: str, answer: str, passages: Sequence[str], references: Sequence[str]
    ) -> Verdict | ParseFailure:
        """Judge one answer. Raises UsageError when what comes is neither verdict nor failure."""
        said: object = super().judge(question, answer, passages, references)
        if not isinstance(said, Verdict | ParseFailure):
            raise UsageError(
                f"the judge {self.name!r} returned {said!r:.60}: return a Verdict or a ParseFailure"
            )
        return said


def open_judge(name: str, settings: Settings) -> Judge:
    """Return a judge by its name; its signature ends with how far it was checked.

    "llm" is the language model of the settings and judges correctness, "llm:faithfulness" judges
    by the passages. "module:attribute" is a function of the settings that returns a judge. The
    signature's end is "checked:kappa=0.71,n=120" after `ragkit eval judge-check` found the judge
    usable, "failed:kappa=..." after it did not, else "unchecked". Raises UsageError for a name
    that means nothing, SettingsError for "llm" without a language model.
    """
    judge = unmarked_judge(name, settings)
    return MarkedJudge(judge, mark(find(judge.signature, settings.home)))


def unmarked_judge(name: str, settings: Settings) -> Judge:
    """Return a judge by its name, without looking whether it was checked."""
    if name in NAMES:
        return _language_model_judge(NAMES[name], settings)
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute or module == "llm":
        close = get_close_matches(name, NAMES, n=1)
        meant = f"did you mean {close[0]!r}?" if close else f"use {', '.join(NAMES)}"
        raise UsageError(f"there is no judge {name!r}: {meant} or module:attribute for your own")
    return _plugged_in(name, module, attribute, settings)


def _language_model_judge(dimension: Dimension, settings: Settings) -> Judge:
    from ragkit import build
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
            f"{name!r} makes no judge but {type(judge).__name__}: return something with judge(),"
            " signature and dimension"
        )
    if getattr(judge, "dimension", None) not in NAMES.values():
        raise UsageError(f"the judge {name!r} has no dimension: name correctness or faithfulness")
    return PluggedJudge(judge, name)
