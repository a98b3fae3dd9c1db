"""A span for each answer by OpenTelemetry's conventions for generative AI, where that is installed.

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ ; no text is ever an attribute.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ragkit import __version__

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.types import Answer


class Span:
    """One answer's span; without OpenTelemetry it takes everything and does nothing."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def answered(self, answer: Answer) -> None:
        """Note what an answer cost and how it ended."""
        if self._span is None:
            return
        self._span.set_attribute("ragkit.refused", answer.refused)
        self._span.set_attribute("ragkit.citations", len(answer.citations))
        for stage, seconds in answer.timings.items():
            self._span.set_attribute(f"ragkit.stage.{stage}_s", seconds)
        if answer.usage is not None:
            self._span.set_attribute("gen_ai.usage.input_tokens", answer.usage.prompt_tokens)
            self._span.set_attribute("gen_ai.usage.output_tokens", answer.usage.completion_tokens)


@contextmanager
def chat_span(model: str, settings: Settings) -> Iterator[Span]:
    """Open the span of a chat completion; what is raised inside marks it as failed."""
    try:
        from opentelemetry import trace
    except ImportError:
        yield Span()
        return
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "ragkit",
        "gen_ai.request.model": model,
        "gen_ai.response.model": settings.llm_model or "ragkit",
    }
    tracer = trace.get_tracer("ragkit", __version__)
    # Ended by whoever holds it, not by the block: a stream outlives the function that began it.
    span = tracer.start_span(f"chat {model}", kind=trace.SpanKind.SERVER, attributes=attributes)
    try:
        yield Span(span)
    except BaseException as error:
        span.set_attribute("error.type", type(error).__qualname__)
        span.set_status(trace.StatusCode.ERROR)
        raise
    finally:
        span.end()


def export_spans() -> None:
    """Send spans where OTEL_EXPORTER_OTLP_ENDPOINT says, if the extra `otel` is installed."""
    if "OTEL_EXPORTER_OTLP_ENDPOINT" not in os.environ:
        return
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({"service.name": "ragkit", "service.version": __version__})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
