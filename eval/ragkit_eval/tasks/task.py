"""A declared task over its data: it reads rows as items, one at a time, and scores responses."""

from __future__ import annotations

import hashlib
import heapq
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.run.item import Item, Method, Response, Scored
from ragkit_eval.tasks.hashing import DIGITS, data_hash
from ragkit_eval.tasks.prefixes import PREFIX_RULES
from ragkit_eval.tasks.rendering import Draft, Renderer
from ragkit_eval.tasks.rows import HUB, Row, read_hub, read_rows, read_table
from ragkit_eval.tasks.scorers import Scorer
from ragkit_eval.tasks.spec import Spec, unknown

_SAMPLE_SEED = (
    "ragkit-sample-1"  # arbitrary, and fixed, so that a limit always takes the same items
)
_OTHER_TARGETS = ("choice", "label-set", "bias", "mass", "program", "refusal")


@dataclass(frozen=True)
class DeclaredTask:
    """A task made of a declaration, its data below `root`, and a scorer.

    `limit` selects that many items, by the lowest hashes of ids; `groups` selects these groups.
    """

    spec: Spec
    root: Path
    scorer: Scorer
    limit: int | None = None
    groups: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that runs it, with its form."""
        return self.spec.name

    @property
    def version(self) -> str:
        """The declaration's version and hash, which change with any prompt or scoring rule."""
        return self.spec.signature

    @property
    def method(self) -> Method:
        """How items are asked."""
        return self.spec.method

    @property
    def metric(self) -> str:
        """The main metric of a run."""
        return self.spec.metric

    @property
    def has_answers(self) -> bool:
        """Tell whether targets are answers; else they are labels, programs or "refuse"."""
        return self.spec.scorer not in _OTHER_TARGETS

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the signature of each metric that scores may have."""
        return self.scorer.metrics

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Return the options of each request."""
        sampling = self.spec.sampling
        return {
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "stop": list(sampling.stop),
            "chat": sampling.chat,
        }

    @cached_property
    def data_hash(self) -> str:
        """The hash of the data files' bytes with shots, in order of name."""
        if self._is_hub:
            return self._hub_hash()
        paths = set()
        for path, group in self.sources():
            paths.update([path, *self._example_files(group)])
        paths.update(self._joined_files())
        return data_hash(sorted(paths))

    def check(self) -> None:
        """Raise NotFoundError for missing data, UsageError for an unknown group."""
        if not self._is_hub:
            for _, group in self.sources():
                self._example_files(group)
            self._joined_files()

    def score(self, item: Item, response: Response) -> Scored:
        """Score a response."""
        return self.scorer.score(item, response)

    def items(self) -> Iterator[Item]:
        """Read the items, in the order of files and rows. Raises UsageError with file and line."""
        renderer = Renderer(self.spec)
        for draft, prefix in self._drafts(renderer):
            if self._sample is None or draft.id in self._sample:
                yield renderer.item(draft, prefix)

    def sources(self) -> list[tuple[Path, str]]:
        """Return the files of questions with their groups, in order of name.

        Raises NotFoundError naming the expected files and their folder.
        """
        files: dict[Path, str] = {}
        for pattern in self.spec.data.files:
            for path in self.root.glob(pattern):
                files[path] = _group(path.relative_to(self.root).as_posix(), pattern)
        if not files:
            expected = " or ".join(self.spec.data.files)
            raise NotFoundError(
                f"{self.name}: there is no {expected} in {self.root}: put the data there"
            )
        if not self.spec.fields.group:
            self._check_groups(set(files.values()))
        if self.groups and not self.spec.fields.group:
            files = {path: group for path, group in files.items() if group in self.groups}
        return sorted(files.items())

    @property
    def _is_hub(self) -> bool:
        return self.spec.data.files[0].startswith(HUB)

    @cached_property
    def _sample(self) -> frozenset[str] | None:
        """The ids that a limit selects, by hash: stable if data is reordered or grows."""
        if self.limit is None:
            return None

        def rank(name: str) -> str:
            return hashlib.sha256(f"{_SAMPLE_SEED}/{name}".encode()).hexdigest()

        ids = (draft.id for draft, _ in self._drafts(Renderer(self.spec)))
        return frozenset(heapq.nsmallest(self.limit, ids, key=rank))

    def _drafts(self, renderer: Renderer) -> Iterator[tuple[Draft, str]]:
        """Yield the rows that are items of the selected groups, with their prompts' prefixes."""
        counts: Counter[str] = Counter()
        groups: set[str] = set()
        for row, file_group, prefix in self._rows(renderer):
            if not renderer.keeps(row, file_group):
                continue
            draft = renderer.draft(row, file_group)
            groups.add(draft.group)
            if not self.groups or draft.group in self.groups:
                counts[draft.id] += 1
                yield self._unique(draft, counts[draft.id]), prefix
        if self.spec.fields.group:
            self._check_groups(groups)
        if not counts:
            raise UsageError(f"{self.name}: {self.root}: the data has no rows: correct it")

    def _unique(self, draft: Draft, count: int) -> Draft:
        """Number a repeated question; ids of the data may not repeat."""
        if count == 1:
            return draft
        if self.spec.fields.id:
            raise UsageError(
                f"{draft.where}: the id {draft.id!r} is there twice: give each row its own"
            )
        return draft._replace(id=f"{draft.id}-{count}")

    def _rows(self, renderer: Renderer) -> Iterator[tuple[Row, str, str]]:
        """Yield rows with the group of their file and the prefix of their question."""
        data = self.spec.data
        if self._is_hub:
            for name in data.files:
                for row in read_hub(name):
                    for part in renderer.split(row):
                        yield part, "", renderer.head("")
            return
        join = self._join()
        for path, group in self.sources():
            prefix = self._prefix(renderer, group)
            for row in read_rows(path, data.format, columns=data.columns, key=data.rows):
                for part in renderer.split(join(row)):
                    yield part, group, prefix

    def _join(self) -> Callable[[Row], Row]:
        """Return a function that gives a row the row of the second file as `joined`, or {}."""
        names, paths = self.spec.data.join_on, self._joined_files()
        if not paths:
            return lambda row: row
        table = read_table(paths[0], names)

        def joined(row: Row) -> Row:
            key = tuple(str(row.values.get(name)) for name in names)
            return row._replace(values={**row.values, "joined": table.get(key, {})})

        return joined

    def _prefix(self, renderer: Renderer, group: str) -> str:
        data = self.spec.data
        if data.prefix_rule:
            path = self._example_files(group)[0]
            try:
                text = path.read_bytes().decode("utf-8")
                return PREFIX_RULES[data.prefix_rule](text, group, self.spec.edits)
            except UnicodeDecodeError as error:
                raise UsageError(f"{path}: not UTF-8: {error.reason}") from error
            except ValueError as error:
                raise UsageError(f"{path}: {error}") from error
        head = renderer.head(group)
        if not data.shots:
            return head
        return head + "".join(renderer.shot(row, group) for row in self._shots(group))

    def _shots(self, group: str) -> list[Row]:
        path, data = self._example_files(group)[0], self.spec.data
        rows: list[Row] = []
        for row in read_rows(path, data.format, columns=data.columns, key=data.rows):
            rows.append(row)
            if len(rows) == data.shot_count:
                return rows
        raise UsageError(f"{path}: {len(rows)} rows where {data.shot_count} shots are needed")

    def _joined_files(self) -> list[Path]:
        """Return the file that is joined, by the first of its names that there is."""
        names = self.spec.data.join
        paths = [path for name in names if (path := self.root / name).is_file()]
        if names and not paths:
            raise NotFoundError(
                f"{self.name}: there is no {' or '.join(names)} in {self.root}: put the data there"
            )
        return paths[:1]

    def _example_files(self, group: str) -> list[Path]:
        """Return the files of examples that a group's prompts need."""
        pattern = self.spec.data.prefix or self.spec.data.shots
        if not pattern:
            return []
        path = self.root / pattern.replace("{group}", group)
        if not path.is_file():
            raise NotFoundError(
                f"{self.name}: there is no {path}: it holds the examples of the prompt"
            )
        return [path]

    def _check_groups(self, names: set[str]) -> None:
        for group in self.groups:
            if group not in names:
                raise UsageError(unknown("group", group, names - {""}, where=self.name))

    def _hub_hash(self) -> str:
        digest = hashlib.sha256()
        for name in self.spec.data.files:
            for row in read_hub(name):
                text = json.dumps(row.values, sort_keys=True, ensure_ascii=False, default=str)
                digest.update(text.encode() + b"\n")
        return digest.hexdigest()[:DIGITS]


def _group(name: str, pattern: str) -> str:
    """Return the text that the pattern's `*` matched, "" without one."""
    if "**" in pattern:
        return ""
    wild = re.escape(pattern).replace(r"\*", "([^/]*)", 1).replace(r"\*", "[^/]*")
    match = re.fullmatch(wild, name)
    return match.group(1) if match and match.groups() else ""
