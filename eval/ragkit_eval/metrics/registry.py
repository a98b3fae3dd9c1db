"""Text metrics by name, with their options after colons: "rouge-l", "rouge-1:stem:recall".

A metric is imported when its name is used.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from ragkit.errors import UsageError
from ragkit_eval.metrics.function_metric import FunctionMetric
from ragkit_eval.metrics.metric import TextMetric

Options = Mapping[str, str]  # a flag's value is ""
_Build = Callable[[str, Options], TextMetric]


@dataclass(frozen=True, slots=True)
class _Family:
    """How metrics of a name are built, and their options; "wordnet=" takes a value."""

    build: _Build
    options: tuple[str, ...] = ()


def names() -> tuple[str, ...]:
    """List the metrics. ROUGE-N, -S and -SU also take other numbers for N and the gap.

    "ter" is another name of "1-ter".

    >>> names()[:3]
    ('reference_recall', 'contains', 'exact_match')
    """
    return _NAMES


def options(name: str) -> tuple[str, ...]:
    """List the options of a metric, written after colons; "wordnet=" is followed by a value.

    >>> options("token_f1")
    ('squad', 'cmrc')
    """
    return _family(name).options


def text_metric(spec: str) -> TextMetric:
    """Build a metric from its name and options, `name[:option...]`.

    In "bertscore:MODEL" everything after the colon is the model. Raises UsageError for an unknown
    name or option, suggesting close ones, and NotFoundError for a missing WordNet.

    >>> text_metric("rouge-2:stem").item("two dogs ran off", ["two dog"])
    0.5
    """
    name, _, suffix = spec.strip().partition(":")
    name = _normalised(name)
    family = _family(name)
    if name == "bertscore":
        return family.build("bertscore", {"model": suffix} if suffix else {})
    words = [option for option in suffix.split(":") if option] if suffix else []
    chosen: dict[str, str] = {}
    for option in words:
        key, equals, value = option.partition("=")
        if key + equals not in family.options:
            raise UsageError(_unknown("option", option, family.options, f"the metric {name}"))
        if equals and not value:
            raise UsageError(f"the option {option} of the metric {name} has no value: give one")
        chosen[key] = value
    return family.build(":".join([_official(name), *words]), chosen)


def _reference_recall(name: str, _: Options) -> TextMetric:
    from ragkit_eval.metrics.reference_recall import reference_recall, signature

    return FunctionMetric(name, signature(), reference_recall)


def _contains(name: str, _: Options) -> TextMetric:
    from ragkit_eval.metrics.contains import contains, signature

    return FunctionMetric(name, signature(), contains)


def _exact_match(name: str, chosen: Options) -> TextMetric:
    from ragkit_eval.metrics.exact_match import exact_match, signature

    rules = _choice(name, chosen, ("squad", "cmrc"), "auto")
    return FunctionMetric(
        name, signature(rules=rules), lambda p, rs: exact_match(p, rs, rules=rules)
    )


def _token_f1(name: str, chosen: Options) -> TextMetric:
    from ragkit_eval.metrics.token_f1 import signature, token_f1

    rules = _choice(name, chosen, ("squad", "cmrc"), "auto")
    return FunctionMetric(name, signature(rules=rules), lambda p, rs: token_f1(p, rs, rules=rules))


def _bleu(name: str, chosen: Options) -> TextMetric:
    from ragkit_eval.metrics.bleu import TOKENIZERS, corpus_bleu, sentence_bleu, signature

    tokenizer = _choice(name, chosen, TOKENIZERS, None)
    return FunctionMetric(
        name,
        signature(tokenizer=tokenizer),
        lambda p, rs: sentence_bleu(p, rs, tokenizer=tokenizer),
        corpus_bleu(tokenizer),
    )


def _chrf(name: str, _: Options) -> TextMetric:
    from ragkit_eval.metrics.chrf import corpus_chrf, sentence_chrf, signature

    order = 2 if name == "chrf++" else 0
    return FunctionMetric(
        name,
        signature(word_order=order),
        lambda p, rs: sentence_chrf(p, rs, word_order=order),
        corpus_chrf(order),
    )


def _ter(name: str, _: Options) -> TextMetric:
    from ragkit_eval.metrics.ter import corpus_ter, signature

    return FunctionMetric(name, signature(), lambda p, rs: corpus_ter().of([p], [rs]), corpus_ter())


def _rouge(name: str, chosen: Options) -> TextMetric:
    function, signature, arguments = _rouge_parts(name.partition(":")[0])
    arguments["stem"] = "stem" in chosen
    arguments["several"] = _choice(name, chosen, ("best", "pool", "jackknife"), "best")
    if "1.5.5" in chosen:
        arguments["original"] = True
    statistic = _choice(name, chosen, ("f", "precision", "recall"), "f")
    return FunctionMetric(
        name,
        f"{signature(**arguments)}|stat:{statistic}",
        lambda p, rs: function(p, rs, **_function_arguments(arguments)).value(statistic),
    )


def _rouge_parts(name: str) -> tuple[Callable[..., Any], Callable[..., str], dict[str, Any]]:
    from ragkit_eval.metrics import rouge_l, rouge_n, rouge_s, rouge_w

    kind = name.removeprefix("rouge-")
    if kind.isdigit():
        return rouge_n.rouge_n, rouge_n.signature, {"n": int(kind)}
    if kind in ("l", "lsum"):
        function = rouge_l.rouge_lsum if kind == "lsum" else rouge_l.rouge_l
        return function, rouge_l.signature, {"lines": kind == "lsum"}
    if kind == "w":
        return rouge_w.rouge_w, rouge_w.signature, {}
    gap = kind.lstrip("su")
    unigrams = kind.startswith("su")
    return (
        rouge_s.rouge_s,
        rouge_s.signature,
        {"unigrams": unigrams, "skip": int(gap) if gap else None},
    )


def _function_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the argument that only the signature takes: ROUGE-L and -Lsum are two functions."""
    return {key: value for key, value in arguments.items() if key != "lines"}


def _meteor(name: str, chosen: Options) -> TextMetric:
    from ragkit_eval.metrics.meteor import meteor, signature
    from ragkit_eval.metrics.wordnet import open_wordnet

    folder = chosen.get("wordnet")
    wordnet = None if folder == "none" else open_wordnet(Path(folder) if folder else None)
    return FunctionMetric(
        name, signature(wordnet), lambda p, rs: meteor(p, rs, wordnet=wordnet).score
    )


def _bertscore(name: str, chosen: Options) -> TextMetric:
    from ragkit_eval.metrics.bertscore import BertScore

    scorer = BertScore(chosen["model"]) if "model" in chosen else BertScore()
    return FunctionMetric(name, scorer.signature(), lambda p, rs: scorer.score(p, rs).f)


_ROUGE = ("stem", "best", "pool", "jackknife", "f", "precision", "recall")
_FAMILIES = {
    "reference_recall": _Family(_reference_recall),
    "contains": _Family(_contains),
    "exact_match": _Family(_exact_match, ("squad", "cmrc")),
    "token_f1": _Family(_token_f1, ("squad", "cmrc")),
    "rouge-1": _Family(_rouge, _ROUGE),
    "rouge-2": _Family(_rouge, _ROUGE),
    "rouge-l": _Family(_rouge, _ROUGE),
    "rouge-lsum": _Family(_rouge, _ROUGE),
    "rouge-w": _Family(_rouge, (*_ROUGE, "1.5.5")),
    "rouge-s": _Family(_rouge, _ROUGE),
    "rouge-s4": _Family(_rouge, _ROUGE),
    "rouge-su": _Family(_rouge, (*_ROUGE, "1.5.5")),
    "rouge-su4": _Family(_rouge, (*_ROUGE, "1.5.5")),
    "bleu": _Family(_bleu, ("13a", "zh", "intl", "char", "none", "flores200")),
    "chrf": _Family(_chrf),
    "chrf++": _Family(_chrf),
    "1-ter": _Family(_ter),
    "meteor": _Family(_meteor, ("wordnet=",)),
    "bertscore": _Family(_bertscore, ("MODEL",)),
}
_NAMES = tuple(_FAMILIES)
_BY_NORMALISED = {name.replace("_", "-"): name for name in _NAMES}
_BY_NORMALISED["ter"] = "1-ter"
_NUMBERED = re.compile(r"rouge-(su|s)?(\d{1,4})")
# Names of other programs, for which a suggestion is made.
_ALIASES = {"em": "exact_match", "f1": "token_f1", "recall": "reference_recall"}
_ALIASES |= {"sacrebleu": "bleu", "rouge": "rouge-l", "bert-score": "bertscore"}


def _normalised(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _official(name: str) -> str:
    return _BY_NORMALISED.get(name, name)


def _family(name: str) -> _Family:
    normalised = _normalised(name)
    if normalised in _BY_NORMALISED:
        return _FAMILIES[_BY_NORMALISED[normalised]]
    numbered = _NUMBERED.fullmatch(normalised)
    if numbered and (numbered[1] or int(numbered[2]) > 0):
        return _FAMILIES[f"rouge-{numbered[1]}" if numbered[1] else "rouge-1"]
    if normalised in _ALIASES:
        raise UsageError(f"unknown metric {name!r}: did you mean {_ALIASES[normalised]}?")
    from ragkit_eval.retrieval.measures import MEASURES

    if normalised.replace("-", "_").partition("@")[0] in MEASURES:
        raise UsageError(f"{name!r} is a measure of retrieval runs: give such a run, with --qrels")
    raise UsageError(_unknown("metric", normalised, tuple(_BY_NORMALISED), "text"))


def _unknown(kind: str, word: str, names: tuple[str, ...], of: str) -> str:
    if not names:
        return f"unknown {kind} {word!r}: {of} takes none"
    close = [_official(name) for name in get_close_matches(word, names, n=3, cutoff=0.5)]
    if close:
        return f"unknown {kind} {word!r}: did you mean {' or '.join(close)}?"
    return f"unknown {kind} {word!r}: of {of} there are {', '.join(map(_official, names))}"


def _choice(name: str, chosen: Options, choices: tuple[str, ...], default: Any) -> Any:
    matches = [choice for choice in choices if choice in chosen]
    if len(matches) > 1:
        raise UsageError(f"the metric {name} cannot be both {' and '.join(matches)}: choose one")
    return cast(Any, matches[0] if matches else default)
