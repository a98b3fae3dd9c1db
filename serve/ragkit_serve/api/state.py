"""What one process that answers has open: services, places, counters, connections."""

from __future__ import annotations

from dataclasses import dataclass

from ragkit_serve.api.admission import Admission
from ragkit_serve.api.keyring import Keyring
from ragkit_serve.api.metrics import Metrics
from ragkit_serve.api.quota import Quota
from ragkit_serve.api.services import Services
from ragkit_serve.api.upstream import Upstream
from ragkit_serve.original.renderer import PageRenderer


@dataclass(frozen=True, slots=True)
class State:
    """Made with the app, closed with it; `upstream` is None without a served model."""

    services: Services
    metrics: Metrics
    quota: Quota
    admission: Admission
    keyring: Keyring
    upstream: Upstream | None
    pages: PageRenderer
