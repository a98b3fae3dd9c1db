"""Certificates of judges: the measured agreement, stored by the judge's signature.

A certificate is a small JSON file in RAGKIT_HOME/judges, by which a run can say whether its judge
was checked.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ragkit.errors import UsageError
from ragkit.settings.home import make_home
from ragkit.system.private_files import make_private
from ragkit_eval.judge.agreement import Agreement
from ragkit_eval.run.files import write_whole

FORMAT: Final = 1
FOLDER: Final = "judges"

# Substantial agreement begins at 0.61, moderate at 0.41: Landis and Koch 1977,
# https://doi.org/10.2307/2529310. The other limits are arbitrary.
FEWEST_ITEMS: Final = 50
FEWEST_OF_A_KIND: Final = 10
LEAST_KAPPA: Final = 0.6
LEAST_KAPPA_LOW: Final = 0.4
MOST_FAILURES: Final = 0.02
LEAST_CONSISTENCY: Final = 0.95


@dataclass(frozen=True, slots=True)
class Check:
    """A condition of use: its name, the measured value, the required value, whether it holds."""

    name: str
    measured: float | None
    wanted: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Certificate:
    """A judge, the data that it was compared with, and its agreement."""

    signature: str
    created: str
    data_name: str
    data_hash: str
    items: int
    kappa: float | None
    usable: bool


def checks(measured: Agreement) -> tuple[Check, ...]:
    """Check the conditions that a judge must fulfil to be usable as a gate."""
    fewest = min(measured.right, measured.items - measured.right)
    value = measured.kappa.mean if measured.kappa else None
    low = measured.kappa.low if measured.kappa else None
    return (
        _at_least("answers", measured.items, FEWEST_ITEMS),
        _at_least("answers of the rarer label", fewest, FEWEST_OF_A_KIND),
        _at_least("kappa", value, LEAST_KAPPA),
        _at_least("kappa, lower end", low, LEAST_KAPPA_LOW),
        Check(
            "unreadable replies",
            measured.failures.mean,
            f"at most {MOST_FAILURES:g}",
            measured.failures.mean <= MOST_FAILURES,
        ),
        _at_least("same verdict twice", measured.consistency.mean, LEAST_CONSISTENCY),
    )


def usable(measured: Agreement) -> bool:
    """Return whether a judge may decide: it fulfils every condition."""
    return all(check.passed for check in checks(measured))


def certificate_json(
    signature: str, measured: Agreement, *, created: str, data_name: str, data_hash: str
) -> dict[str, Any]:
    """Return the JSON values of a certificate's file."""
    return {
        "format": FORMAT,
        "signature": signature,
        "created": created,
        "data": {"name": data_name, "hash": data_hash},
        "agreement": asdict(measured),
        "checks": [asdict(check) for check in checks(measured)],
        "usable": usable(measured),
    }


def path_of(signature: str, home: Path) -> Path:
    """Return the path of a judge's certificate."""
    return home / FOLDER / f"{hashlib.sha256(signature.encode()).hexdigest()[:16]}.json"


def keep(values: dict[str, Any], home: Path) -> Path:
    """Store a certificate in place of the judge's previous one. Raises UsageError."""
    path = path_of(values["signature"], home)
    try:
        make_home(home)
        make_private(path.parent)
    except OSError as error:
        raise UsageError(
            f"{path.parent} cannot be made: {error.strerror}: set RAGKIT_HOME to a folder of yours"
        ) from error
    write_whole(path, json.dumps(values, ensure_ascii=False, indent=2) + "\n")
    return path


def find(signature: str, home: Path) -> Certificate | None:
    """Return a judge's certificate; None without one. Raises UsageError for a damaged file."""
    path = path_of(signature, home)
    try:
        values = json.loads(path.read_bytes())
        if values["format"] != FORMAT or values["signature"] != signature:
            return None
        measured = values["agreement"]
        return Certificate(
            signature=signature,
            created=values["created"],
            data_name=values["data"]["name"],
            data_hash=values["data"]["hash"],
            items=int(measured["items"]),
            kappa=None if measured["kappa"] is None else float(measured["kappa"]["mean"]),
            usable=values["usable"] is True,
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} is not the certificate of a judge: {error}: remove it, and run"
            " `ragkit eval judge-check` again"
        ) from error


def mark(certificate: Certificate | None) -> str:
    """Return the end of a signature that says how a judge was checked.

    >>> mark(None)
    'unchecked'
    >>> mark(Certificate("judge|...", "", "", "", items=120, kappa=0.7149, usable=True))
    'checked:kappa=0.71,n=120'
    """
    if certificate is None:
        return "unchecked"
    value = "none" if certificate.kappa is None else f"{certificate.kappa:.2f}"
    kind = "checked" if certificate.usable else "failed"
    return f"{kind}:kappa={value},n={certificate.items}"


def is_checked(signature: str) -> bool:
    """Return whether the end of a metric's signature says that its judge may decide.

    >>> is_checked("judge|model:m|v:1|checked:kappa=0.71,n=120"), is_checked("judge|x|unchecked")
    (True, False)
    """
    return signature.rpartition("|")[2].startswith("checked:")


def _at_least(name: str, measured: float | None, least: float) -> Check:
    return Check(name, measured, f"at least {least:g}", measured is not None and measured >= least)
