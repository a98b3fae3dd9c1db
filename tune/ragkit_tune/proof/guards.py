"""Guard sets: questions that a model need not get better at, and must not get worse at.

They are about the bundled handbook, in both languages, about the test set's other languages, and
what the user names; a language model can also be guarded by tasks of `ragkit eval`, such as MMLU. A
model that was tuned on one subject or language often forgets others.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.errors import NotFoundError, UsageError
from ragkit.system.private_files import make_private
from ragkit.text.language import language
from ragkit_tune.data.data_set import read_objects, write_rows
from ragkit_tune.proof.programs import Program

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.vectors.active_space import KeptSpace

QUESTIONS: Final = 60  # about the handbook, a language; its documents give about as many; arbitrary
SEED: Final = 20  # of these; another seed is another guard
FEWEST: Final = 20  # questions in another language; fewer say nothing; arbitrary
_LANGUAGES: Final = ("en", "zh")


@dataclass(frozen=True, slots=True)
class GuardSet:
    """A labelled set, and the collection that it asks."""

    name: str
    questions: Path
    collection: str


@dataclass(frozen=True, slots=True)
class GuardTask:
    """A task of `ragkit eval`, named or by its own TOML file, and the measure that counts."""

    name: str
    task: str
    measure: str


Guard = GuardSet | GuardTask


def split_tasks(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divide what is named as guards into labelled sets and tasks: those are no files, or TOML.

    >>> split_tasks(["mmlu:generate", "exam.toml", "set.jsonl", "set.jsonl=contracts"])
    (['set.jsonl', 'set.jsonl=contracts'], ['mmlu:generate', 'exam.toml'])
    """
    tasks = [name for name in names if _is_task(Path(name.partition("=")[0]).expanduser())]
    return [name for name in names if name not in tasks], tasks


def _is_task(path: Path) -> bool:
    return path.suffix.startswith(".toml") or not (path.suffix or path.exists())


def read_tasks(names: Sequence[str], program: Program, variables: dict[str, str]) -> list[Guard]:
    """Look tasks up. Raises RagkitError for an unknown one, UsageError for one without data."""
    guards: list[Guard] = []
    for name in names:
        (task,) = json.loads(program(["eval", "tasks", name, "--json"], variables))
        if task["problem"]:
            raise UsageError(
                f"--guard {name}: {task['problem']}, or set RAGKIT_EVAL_DATA to the folder with it"
            )
        guards.append(GuardTask(task["name"], name, task["metric"]))
    return guards


def named_guards(names: Sequence[str], collection: str) -> list[GuardSet]:
    """Read `SET` and `SET=COLLECTION`; without one, the collection of the proof is asked.

    Raises NotFoundError for a set that is not there.
    """
    guards = []
    for name in names:
        path_text, _, asked_collection = name.partition("=")
        path = Path(path_text).expanduser()
        if not path.exists():
            raise NotFoundError(f"--guard {name}: {path} does not exist: name a labelled set")
        guards.append(GuardSet(path.stem, path, asked_collection or collection))
    return guards


def other_languages(questions: Path, collection: str, folder: Path) -> list[GuardSet]:
    """Take the questions of a set that are not in its commonest language, a guard of each."""
    by_language: dict[str, list[dict[str, object]]] = {}
    for _, row in read_objects(questions):
        by_language.setdefault(language(str(row.get("question", ""))), []).append(row)
    counts = Counter({name: len(rows) for name, rows in by_language.items()})
    commonest = counts.most_common(1)[0][0] if counts else ""
    guards = []
    for name, rows in sorted(by_language.items()):
        if name not in {"", commonest} and len(rows) >= FEWEST:
            path = folder / f"questions-{name}.jsonl"
            write_rows(path, rows)
            guards.append(GuardSet(f"the questions in {name}", path, collection))
    return guards


def handbook_folder() -> Path | None:
    """Return the folder of the example handbook, with a folder for each language in it.

    It lies beside this file in an installation, and among the examples in a checkout; None where
    neither has it.
    """
    here = Path(__file__).resolve()
    for folder in (here.parent / "handbook", here.parents[3] / "examples" / "handbook"):
        if all((folder / code).is_dir() for code in _LANGUAGES):
            return folder
    return None


def handbook_guards(
    settings: Settings,
    active: KeptSpace,
    program: Program,
    variables: dict[str, str],
    progress: Callable[[str], None],
) -> list[GuardSet]:
    """Ingest the handbook with the model that is used now, and ask about it in each language.

    Collection and questions stay for the next proof. Nothing where there is no handbook.
    """
    handbook = handbook_folder()
    if handbook is None:
        return []
    space = hashlib.sha256(repr(active.space).encode()).hexdigest()[:8]
    places = [handbook / code for code in _LANGUAGES]
    name = f"eval-handbook-{_hash_files(places)}-{space}"
    folder = settings.home / "tune" / ".guards" / name
    guards = [GuardSet(f"handbook-{code}", folder / f"{code}.jsonl", name) for code in _LANGUAGES]
    if not _is_stored(settings, name):
        progress("handbook: ingesting")
        program(["ingest", *map(str, places), "--collection", name], variables | _model_of(active))
    make_private(folder)
    for code, guard in zip(_LANGUAGES, guards, strict=True):
        if not guard.questions.exists():
            progress(f"handbook: asking in {code}")
            _ask(guard, code, program, variables)
    return [guard for guard in guards if guard.questions.exists()]


def _ask(guard: GuardSet, code: str, program: Program, variables: dict[str, str]) -> None:
    options = ["--collection", guard.collection, "--language", code, "--method", "rules"]
    numbers = ["--questions", str(QUESTIONS), "--unanswerable", "0", "--seed", str(SEED)]
    out = ["--out", str(guard.questions), "--json"]
    printed = program(["eval", "testset", *options, *numbers, *out], variables)
    assert json.loads(printed)["questions"], "the handbook gives questions"


def _model_of(active: KeptSpace) -> dict[str, str]:
    """Return the variables that embed a new collection with this space's model."""
    variables = {"RAGKIT_EMBED_MODEL": active.source or active.space.model}
    if active.first is not None:
        variables["RAGKIT_EMBED_DIMENSION"] = str(active.first)
    return variables


def _is_stored(settings: Settings, collection: str) -> bool:
    from ragkit.store.open import open_database

    with open_database(settings) as database:
        stored = database.store(settings.tenant).collections()
    return any(row.name == collection and row.chunks for row in stored)


def _hash_files(folders: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(path.relative_to(folder.parent).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]
