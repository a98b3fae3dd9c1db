"""What the server counts, for Prometheus; no tenant, key or text is ever a label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragkit.types import Usage

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# Seconds; from a health check to an answer of ten minutes.
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
Reason = Literal["quota", "overload", "draining"]


class Metrics:
    """The counters of one process; with several, prometheus_client adds them up by files."""

    def __init__(self, *, shared: bool = False) -> None:
        self._shared = shared
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "ragkit_requests",
            "Requests answered.",
            ["route", "method", "status"],
            registry=registry,
        )
        self.seconds = Histogram(
            "ragkit_request_seconds",
            "Seconds from a request to the end of its answer.",
            ["route"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self.stages = Histogram(
            "ragkit_stage_seconds",
            "Seconds of each stage of an answer.",
            ["stage"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self.in_flight = Gauge(
            "ragkit_in_flight",
            "Questions being answered.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.waiting = Gauge(
            "ragkit_waiting",
            "Questions waiting to be answered.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.rejections = Counter(
            "ragkit_rejections", "Questions turned away.", ["reason"], registry=registry
        )
        self.tokens = Counter(
            "ragkit_tokens", "Tokens the language model counted.", ["kind"], registry=registry
        )
        self.jobs = Gauge(
            "ragkit_jobs",
            "Uploads that are not yet searchable.",
            ["state"],
            registry=registry,
            multiprocess_mode="mostrecent",
        )
        self.processes = Gauge(
            "ragkit_process_up",
            "Whether a process of the server runs, or keeps ending soon after its start.",
            ["process"],
            registry=registry,
            multiprocess_mode="mostrecent",
        )
        for reason in ("quota", "overload", "draining"):
            self.rejections.labels(reason)

    def rejected(self, reason: Reason) -> None:
        """Count a question that was turned away."""
        self.rejections.labels(reason).inc()

    def answered(self, timings: Mapping[str, float], usage: Usage | None) -> None:
        """Count an answer's stages and tokens."""
        for stage, seconds in timings.items():
            self.stages.labels(stage).observe(seconds)
        if usage is not None:
            self.tokens.labels("prompt").inc(usage.prompt_tokens)
            self.tokens.labels("completion").inc(usage.completion_tokens)
            self.tokens.labels("cached").inc(usage.cached_tokens or 0)

    def text(self) -> bytes:
        """Write the figures in Prometheus' text format, of all processes where they share."""
        if not self._shared:
            return generate_latest(self.registry)
        from prometheus_client import multiprocess

        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
