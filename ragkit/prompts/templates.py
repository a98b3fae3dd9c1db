"""Prompts as Jinja templates in files, by language: ragkit's own, or a user's in their place.

A user's template is trusted code from the user's disk, and runs in a sandbox all the same; the
values in it are data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path, PurePath
from traceback import extract_tb
from typing import TYPE_CHECKING, Final, Literal

from ragkit.errors import SettingsError

if TYPE_CHECKING:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

PromptLanguage = Literal["en", "zh"]

OWN: Final = Path(__file__).with_name("templates")
SUFFIX: Final = ".jinja"
MAX_CHARS: Final = 10_000_000  # arbitrary: more than any model's context holds


class Templates:
    """Render prompts; a template in `folder`/COLLECTION comes before one in `folder`, then
    ragkit's.

    A template's file is NAME.LANGUAGE.jinja, as in user.zh.jinja.

    >>> Templates().render("user", "en", sources=["..."], question="Why?").splitlines()[-1]
    'Question: Why?'
    """

    def __init__(self, folder: Path | None = None, collection: str = "") -> None:
        self._folder = folder
        self._collection = collection
        self._jinja: ImmutableSandboxedEnvironment | None = None

    def render(self, name: str, language: PromptLanguage, **values: object) -> str:
        """Fill in a template. Raises SettingsError with the file, the line and the remedy."""
        from jinja2 import TemplateError

        mistakes = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)
        limits = (RecursionError, MemoryError, OSError)
        try:
            template = self._load().get_template(_file(name, language))
            return _joined(template.generate(values))
        except (TemplateError, *mistakes, *limits) as error:
            raise SettingsError(self._broken(error, name, language)) from error

    def version(self, *names: str, language: PromptLanguage) -> str:
        """Return a hash of the templates' texts, 12 hexadecimal digits."""
        digest = hashlib.sha256()
        for name in names:
            path = self._path(_file(name, language))
            digest.update(path.read_bytes() + b"\0")
        return digest.hexdigest()[:12]

    def _load(self) -> ImmutableSandboxedEnvironment:
        if self._jinja is None:
            from jinja2 import FileSystemLoader, StrictUndefined, TemplateError
            from jinja2.sandbox import ImmutableSandboxedEnvironment

            class Alone(ImmutableSandboxedEnvironment):
                def join_path(self, template: str, parent: str) -> str:
                    # Otherwise its text could change under the same version.
                    raise TemplateError(f"a template cannot use another, as {template!r}")

            self._jinja = Alone(
                loader=FileSystemLoader(self._folders()),
                undefined=StrictUndefined,
                autoescape=False,  # a prompt is no page
                trim_blocks=True,
                lstrip_blocks=True,
            )
        return self._jinja

    def _folders(self) -> list[Path]:
        """List the folders of templates, best first; an unknown template there is an error."""
        if self._folder is None:
            return [OWN]
        if not self._folder.is_dir():
            raise SettingsError(f"{self._folder} is no folder: correct RAGKIT_PROMPTS, or unset it")
        folders = [self._folder, OWN]
        # Any other name would lead out of the folder.
        if PurePath(self._collection).name == self._collection != "":
            folders.insert(0, self._folder / self._collection)
        names = {path.name for path in OWN.glob(f"*{SUFFIX}")}
        for path in sorted(path for folder in folders for path in folder.glob(f"*{SUFFIX}")):
            if path.name not in names:
                close = get_close_matches(path.name, names, n=1)
                suggestion = close[0] if close else f"one of {', '.join(sorted(names))}"
                raise SettingsError(f"{path} is no template that ragkit uses: name it {suggestion}")
        return folders

    def _path(self, file: str) -> Path:
        return next(path for folder in self._folders() if (path := folder / file).is_file())

    def _broken(self, error: Exception, name: str, language: PromptLanguage) -> str:
        path, line = str(self._path(_file(name, language))), getattr(error, "lineno", None)
        for frame in extract_tb(error.__traceback__):  # Jinja's frames name the templates
            if frame.filename.endswith(SUFFIX):
                path, line = frame.filename, frame.lineno
        where = f"{path}{f', line {line}' if line else ''}"
        problem = " ".join(str(error).split()) or type(error).__name__
        return f"prompt template {where} cannot be used: {problem}. Correct it, or take it away."


def _joined(pieces: Iterable[str]) -> str:
    written: list[str] = []
    budget = MAX_CHARS
    for piece in pieces:
        budget -= len(piece)
        if budget < 0:
            raise ValueError(f"it writes more than {MAX_CHARS} characters")
        written.append(piece)
    return "".join(written)


def _file(name: str, language: PromptLanguage) -> str:
    return f"{name}.{language}{SUFFIX}"
