"""Templates and expressions of a task's file, compiled once, with errors that name the row.

They run in Jinja's sandbox. Texts and values stay unchanged, except that Jinja makes every line
end of a template "\\n".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING, Any

from ragkit.errors import UsageError

if TYPE_CHECKING:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

Render = Callable[[Mapping[str, Any]], str]
Evaluate = Callable[[Mapping[str, Any]], Any]


def compile_template(text: str, name: str) -> Render:
    """Return a function that renders a template. Raises UsageError for a malformed template."""
    from jinja2 import TemplateSyntaxError

    try:
        return _environment().from_string(text).render
    except TemplateSyntaxError as error:
        raise UsageError(f"{name}: not a template: {error.message}: {text!r}") from error


def compile_expression(text: str, name: str) -> Evaluate:
    """Return a function that evaluates an expression. Raises UsageError for a malformed one."""
    from jinja2 import TemplateSyntaxError, Undefined

    try:
        expression = _environment().compile_expression(text, undefined_to_none=False)
    except TemplateSyntaxError as error:
        raise UsageError(f"{name}: not an expression: {error.message}: {text!r}") from error

    def evaluate(values: Mapping[str, Any]) -> Any:
        value = expression(values)
        if isinstance(value, Undefined):
            str(value)  # raises the UndefinedError that names the missing value
        return value

    return evaluate


def evaluated(
    call: Callable[[Mapping[str, Any]], Any], values: Mapping[str, Any], name: str
) -> Any:
    """Call a compiled template or expression. Raises UsageError with `name` and the reason."""
    from jinja2 import TemplateError

    try:
        return call(values)
    except (
        TemplateError,
        TypeError,
        ValueError,
        AttributeError,
        LookupError,
        ArithmeticError,
        RecursionError,
        re.error,
    ) as error:
        reason = getattr(error, "message", None) or error
        columns = ", ".join(str(column) for column in values.get("row", values))
        raise UsageError(f"{name}: {reason}: the row has {columns}") from error


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    environment.filters["sub"] = lambda text, pattern, replacement: re.sub(
        pattern, replacement, text
    )
    environment.filters["letters"] = _letters
    environment.filters["chosen"] = lambda values, flags: list(compress(values, flags))
    environment.filters["label_of"] = _label_of
    environment.filters["digest"] = lambda text: hashlib.sha256(text.encode()).hexdigest()[:12]
    return environment


def _letters(value: Any) -> list[str]:
    """Return the capital letters of a text or of a list of texts, each once, sorted."""
    return sorted(set(re.findall("[A-Z]", "".join(value))))


def _label_of(answer: Any, options: Sequence[Any], labels: Sequence[Any]) -> Any:
    """Return the label of the option that is the answer; the answer itself if none is."""
    pairs = zip(options, labels, strict=True)
    return next((label for option, label in pairs if option == answer), answer)
