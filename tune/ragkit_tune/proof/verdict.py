"""The verdict on a model: better, no difference or worse, decided on one measure named beforehand.

It computes from the differences that `ragkit eval compare` reports. How these came about, and how
many models were tried before, is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Any, Final, Literal, get_args

from ragkit.errors import UsageError

Outcome = Literal["better", "no difference", "worse"]

LEVEL: Final = 0.05  # of the test, two-sided: the intervals are at 95%
# What a guard set may fall by. A difference that people notice in a ranking is larger; arbitrary.
GUARD_LIMIT: Final = 0.01


@dataclass(frozen=True, slots=True)
class Difference:
    """What a candidate changes on one set: a row of `ragkit eval compare`.

    `a` and `b` are the means of baseline and candidate, `mean` is b - a, with its 95% interval from
    `low` to `high`. `detectable` is the smallest difference that the set shows four times in five.
    """

    name: str
    measure: str
    items: int
    clusters: int
    a: float
    b: float
    mean: float
    low: float
    high: float
    p: float
    detectable: float = inf

    @property
    def fell(self) -> bool:
        """Tell whether this fell by more than a guard may, by the point estimate."""
        return self.mean < -GUARD_LIMIT


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome with what it rests on, and with what it is about.

    `p` is the main difference's, corrected by Holm over the `tried` models of the same questions in
    the same collection. `reported` decide nothing. `facts` name model, baseline,
    questions, collection and their hashes.
    """

    outcome: Outcome
    sentence: str
    main: Difference
    p: float
    tried: int
    guards: tuple[Difference, ...] = ()
    reported: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return JSON values; infinite numbers are null."""
        values = asdict(self)
        for row in (values["main"], *values["guards"], *values["reported"]):
            row["detectable"] = row["detectable"] if isfinite(row["detectable"]) else None
        return values


def decide(
    main: Difference,
    guards: Sequence[Difference] = (),
    *,
    earlier: Sequence[float] = (),
    reported: Sequence[Difference] = (),
    notes: Sequence[str] = (),
    facts: Mapping[str, Any] | None = None,
) -> Verdict:
    """Decide by the main difference and the guards.

    `earlier` are the p-values of other models that were tried on the same questions in the same
    collection: the best of several is better by chance more often than one of them, so all are
    corrected together (Holm 1979, https://www.jstor.org/stable/4615733). A guard that fell turns
    "better" into "worse"; a model that shows no difference stays at that, with a note.
    """
    p = holm(main.p, earlier)
    shown = p <= LEVEL and (main.low > 0 or main.high < 0)
    fallen = [guard for guard in guards if guard.fell]
    outcome: Outcome = "no difference"
    if shown:
        outcome = "better" if main.mean > 0 and not fallen else "worse"
    return Verdict(
        outcome,
        _sentence(outcome, main, fallen, p, len(earlier) + 1),
        main,
        p,
        len(earlier) + 1,
        tuple(guards),
        tuple(reported),
        (*notes, *_guard_notes(outcome, main, guards)),
        facts,
    )


def holm(p: float, family: Sequence[float]) -> float:
    """Correct a p-value for the others of its family, by Holm's step-down procedure.

    With m tests, the k-th smallest is multiplied by m - k + 1, and none is below one before it.

    >>> holm(0.02, []), holm(0.02, [0.5, 0.001]), holm(0.04, [0.03])
    (0.02, 0.04, 0.06)
    """
    values = sorted([p, *family])
    corrected = 0.0
    for place, value in enumerate(values):
        corrected = max(corrected, min(1.0, value * (len(values) - place)))
        if value == p:
            return corrected
    raise AssertionError("a value is in its own family")


def read_verdict(values: object, where: str) -> Verdict:
    """Read a stored verdict. Raises UsageError naming where it stands."""
    try:
        if not isinstance(values, dict) or values["outcome"] not in get_args(Outcome):
            raise TypeError("no outcome")
        return Verdict(
            values["outcome"],
            str(values["sentence"]),
            _difference(values["main"]),
            float(values["p"]),
            int(values["tried"]),
            tuple(map(_difference, values["guards"])),
            tuple(map(_difference, values["reported"])),
            tuple(map(str, values["notes"])),
            dict(values["facts"] or {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{where}: the verdict cannot be read ({error}): run `ragkit tune prove` again"
        ) from error


def _difference(values: Mapping[str, Any]) -> Difference:
    detectable = values["detectable"]
    return Difference(**{**values, "detectable": inf if detectable is None else detectable})


def _sentence(
    outcome: Outcome, main: Difference, fallen: Sequence[Difference], p: float, tried: int
) -> str:
    if outcome == "better":
        return f"better by {main.mean:.3f} {interval(main)}{_family(main, p, tried)}"
    if outcome == "worse" and main.mean > 0:
        guard = min(fallen, key=lambda row: row.mean)
        return (
            f"worse by {-guard.mean:.3f} {interval(guard, sign=-1)} on {guard.name}, where"
            f" {GUARD_LIMIT:g} is allowed, though better by {main.mean:.3f} {interval(main)}"
        )
    if outcome == "worse":
        return f"worse by {-main.mean:.3f} {interval(main, sign=-1)}{_family(main, p, tried)}"
    family = _family(main, p, tried) or f", p = {p:.2g}"
    return f"no difference: {signed(main.mean)} {interval(main)}{family}"


def _family(main: Difference, p: float, tried: int) -> str:
    """Name the corrected p-value where several models were tried."""
    if tried == 1:
        return ""
    return f", p = {main.p:.2g}, {p:.2g} over the {tried} models tried on these questions"


def _guard_notes(
    outcome: Outcome, main: Difference, guards: Sequence[Difference]
) -> tuple[str, ...]:
    if main.a == main.b and main.low == main.high == 0:
        power = (
            "all questions are answered equally by both models: this set cannot show a difference"
        )
    elif main.detectable <= 1:
        power = f"this set shows differences of {main.detectable:.3f} or more"
    else:
        power = (
            f"{main.clusters} independent groups of questions are too few to show any difference"
        )
    notes = [power] if outcome == "no difference" else []
    if main.p > LEVEL and (main.low > 0 or main.high < 0):
        notes.append("the interval leaves 0 out, but too few questions changed for the test")
    notes += [
        f"guard {row.name} fell by {-row.mean:.3f} {interval(row, sign=-1)}, more than"
        f" {GUARD_LIMIT:g}"
        for row in guards
        if row.fell
    ]
    return tuple(notes)


def interval(row: Difference, *, sign: int = 1) -> str:
    """Write the 95% interval; of the loss instead of the gain where `sign` is -1."""
    low, high = sorted((sign * row.low, sign * row.high))
    return f"(95% {_bound(low)} to {_bound(high)})"


def signed(value: float) -> str:
    """Write a difference with its sign; none for zero."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text


def _bound(value: float) -> str:
    text = f"{value:.3f}"
    return "0.000" if float(text) == 0 else text
