"""The Ray that a run uses: a cluster that is there already, or one of this machine's own.

It knows nothing of ingestion.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import RagkitError, SettingsError, UsageError

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings

REMEDY: Final = "pip install 'ragkit[ray]'"
_VARIABLE: Final = "RAY_ADDRESS"  # Ray's own
_LEAST_CPUS: Final = 2  # an embedder takes one, a parser and a writer parts of another
_KNOCK_S: Final = 5.0  # arbitrary
_LOOPBACK: Final = ("127.0.0.1:", "localhost:")
_QUIET: Final[Mapping[str, Any]] = {"log_to_driver": False, "logging_level": logging.ERROR}


@dataclass(frozen=True, slots=True)
class Size:
    """What a cluster has: of its machines that have the fewest, the cores are `least_cpus`."""

    cpus: int
    gpus: int
    least_cpus: int


def check(settings: Settings) -> None:
    """Raise UsageError where a run on Ray cannot be."""
    _prepare(cluster_address())
    try:
        import ray.data  # noqa: F401
    except ImportError as error:
        raise UsageError(f"--engine ray needs Ray: {REMEDY}") from error
    address = cluster_address()
    if address is None:
        return
    if "://" in address:
        raise SettingsError(
            f"The Ray cluster's address {address!r} is a Ray client's: run ragkit on a machine of"
            f" the cluster, with {_VARIABLE}=HOST:PORT of its head, or auto."
        )
    if settings.database_url is None:
        raise SettingsError(
            "--engine ray on a cluster needs a PostgreSQL server that all its machines reach: set"
            f" RAGKIT_DATABASE_URL, or unset {_VARIABLE} to use this machine alone."
        )


def cluster_address() -> str | None:
    """Return the cluster's address, as Ray's own variable has it; None: no cluster."""
    address = os.environ.get(_VARIABLE) or None
    return None if address == "local" else address


@contextmanager
def joined() -> Iterator[Size]:
    """Join the cluster, or start one on this machine; leave it, with all that runs, at the end.

    Raises UsageError where there is none, RagkitError where it is too small.
    """
    address = cluster_address()
    if address is not None:
        _knock(address)
    _prepare(address)
    with redirect_stdout(sys.stderr):  # Ray tells there, until its very end; ours is a result
        _join(address)
        try:
            yield _size()
        finally:
            _ray().shutdown()


def _join(address: str | None) -> None:
    """Have Ray join the cluster, or start one here; raise UsageError where it cannot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _ray().init(address or "local", **_own(address), **_QUIET)
        except (ConnectionError, RuntimeError, ValueError) as error:
            said = " ".join(str(error).split())[:300]
            where = f"be joined at {address}" if address else "be started on this machine"
            raise UsageError(f"No Ray cluster can {where}: {said}") from error


def _knock(address: str) -> None:
    """Raise UsageError where nobody answers, which Ray would find out after minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        return  # auto
    try:
        socket.create_connection((host, int(port)), _KNOCK_S).close()
    except OSError as error:
        said = error.strerror or str(error)
        raise UsageError(f"No Ray cluster answers at {address}: {said}") from error


def _prepare(address: str | None) -> None:
    """Tell Ray, before it is imported, to send no usage figures, and to let no stranger in.

    A cluster of one's own listens on this machine alone, where others may have accounts: they would
    need the token. That of a cluster that is there is its operator's affair. Raises UsageError
    where Ray was imported before and asks for no token.
    """
    if address is None and "ray" in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        raise UsageError(
            "--engine ray: this program imported Ray before it was told to ask for a token: set"
            " RAY_AUTH_MODE=token first, or import Ray later."
        )
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # What Ray's own core says on standard error is for those who look into Ray.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if address is None or address.startswith(_LOOPBACK):
        # Ray would put the machine's address on the network in the place of 127.0.0.1. By this
        # name, which it means for other systems, it is told to stay on the loopback.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    if address is None:
        os.environ.setdefault("RAY_worker_niceness", "0")  # else all others here come first
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        if not os.environ.keys() & {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"}:
            os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def _own(address: str | None) -> Mapping[str, Any]:
    """Describe a cluster of one's own; nothing where there is another."""
    if address is not None:
        return {}
    cpus = max(_LEAST_CPUS, len(os.sched_getaffinity(0)))
    return {"include_dashboard": False, "num_cpus": cpus}


def _ray() -> Any:
    """Import Ray, whose own types say little."""
    import ray

    return ray


def _size() -> Size:
    nodes = [node["Resources"] for node in _ray().nodes() if node["Alive"]]
    cpus = [int(resources.get("CPU", 0)) for resources in nodes]
    gpus = sum(int(resources.get("GPU", 0)) for resources in nodes)
    if sum(cpus) < _LEAST_CPUS:
        raise RagkitError(
            f"The Ray cluster has {sum(cpus)} CPU: it needs {_LEAST_CPUS}, one for an embedder and"
            " one for the others."
        )
    return Size(sum(cpus), gpus, min(one for one in cpus if one))
