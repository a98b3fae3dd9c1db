"""Ignore patterns mean what they mean to git, which is asked about each of them."""

import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from ragkit_ingest.sources.patterns import decide, pattern, patterns
from tests.growth import grows_linearly

FILES = """a.md b.md a.txt foo/a.md foo/b/a.md x/foo/a.md x/y/foo.md xx/foo docs/a.md docs/sub/a.md
docs/sub/deep/a.md a/b a/x/b a/x/y/b ab axb a[1].md a1.md a-b.md a]b.md a!b.md #a.md !a.md a*b.md
trailing\\ ~.md a\\b.md -.md ^.md Foo/A.MD build/out/a.md src/build/a.md .hidden.md foo.md
foobar/a.md""".split()
CHINESE = ["茶/水.md", "茶水.md"]
# One ignore file each, lines separated by "|".
TABLE = [
    *["*.md", "/*.md", "foo", "foo/", "/foo", "/foo/", "x/foo", "x/foo/", "/x/foo", "**/foo"],
    *["foo/**", "foo/*", "**/a.md", "docs/**/a.md", "docs/**", "/docs/*", "docs/*/a.md", "**"],
    *["a/**/b", "a**b", "a/**b", "**a/b", "**/", "*/", "/", "//", "!", "a?", "a?b", "a*b", "?.md"],
    *["[ab].md", "[!a].md", "[^a].md", "[a-c].md", "[]]b", "a[]]b.md", "a[1].md", "a\\[1\\].md"],
    *["[[:digit:]]", "a[[:digit:]].md", "a[[:alpha:]]b", "[[:nonsense:]].md", "[a", "a[", "a]b.md"],
    *[
        "#a.md",
        "\\#a.md",
        "!a.md",
        "\\!a.md",
        "a\\*b.md",
        "a.md ",
        "a.md\\ ",
        "trailing\\\\",
        "a\\",
    ],
    *["*.md|!a.md", "*.md|!/a.md", "!a.md|*.md", "foo|!foo/a.md", "foo/*|!foo/a.md", "/*|!/docs/"],
    *["/*|!/docs|/docs/*|!/docs/sub", "docs/**|!docs/sub/", "*|!*/|!*.md", "*|!*/|!docs/**/*.md"],
    *["茶/", "茶", "*水*", "build/|!src/build/", "**/build", "build/**|!**/a.md", "foo*/", "foo.*"],
    *["[a-]*.md", "[-a].md", "[--a].md", "[z-a].md", "[\\^].md", "[a\\]]*", "a[!]]b.md", "a\\b.md"],
    *[
        "",
        "  ",
        "# comment|*.txt",
        "*.txt\r|foo/\r",
        "docs/sub",
        "sub",
        "sub/",
        "deep/a.md",
        "*/a.md",
    ],
    *[
        "*/*/a.md",
        "**/sub/**",
        "**/sub/*",
        "docs/**/",
        "/**",
        "/**/a.md",
        "**/**/a.md",
        "a/**/**/b",
    ],
    *[
        "Foo",
        "foo/b|!foo/b/a.md",
        ".*",
        "*.*",
        "f*o",
        "f**o",
        "x/**/foo",
        "x/*o",
        "x/\\foo",
        "\\x",
        "***/[!a]",
    ],
]
HOSTILE = "a" * 250 + "/" + "a" * 250


@pytest.mark.parametrize("lines", TABLE)
def test_each_pattern_picks_what_git_picks(lines: str, repository: Path) -> None:
    text = lines.replace("|", "\n") + "\n"
    # To git a character beyond ASCII is several, so it is only asked about those by their names.
    paths = _paths(FILES if lines.isascii() else CHINESE)
    assert _picked(text, paths) == _git(repository, text, paths)


def test_patterns_made_at_random_pick_what_git_picks(repository: Path) -> None:
    chance = random.Random(7)
    pieces = ["a", "b", "*", "**", "?", "/", "[ab]", "[!a]", "\\", "foo", ".md", "!", "docs", "sub"]
    paths = _paths(FILES)
    for _ in range(150):
        lines = [
            "".join(chance.choices(pieces, k=chance.randint(1, 6)))
            for _ in range(chance.randint(1, 3))
        ]
        # What comes after a plain beginning git takes for a pattern of its own, in which a** would
        # be any folders; its documentation says that these are two stars, as here.
        text = "\n".join(line for line in lines if not re.search(r"[^/*!]\*\*", line)) + "\n"
        assert _picked(text, paths) == _git(repository, text, paths), text


def test_time_grows_with_the_pattern_not_with_its_possibilities() -> None:
    # As regular expressions these would take longer than the universe is old.
    def match(size: int) -> None:
        half = size // 2
        for text in ("*a" * size + "b", "/**/a*" * half + "/b", "**/" * half + "*a" * size + "b"):
            rule = pattern(text)
            assert rule is not None
            assert not rule.matches(HOSTILE, is_folder=False)

    assert grows_linearly(match, 200)


def test_a_question_mark_is_a_character_not_a_byte() -> None:
    rule = pattern("?.md")
    assert rule is not None
    assert rule.matches("茶.md", is_folder=False)  # git, which counts bytes, disagrees


def _paths(files: Sequence[str]) -> list[str]:
    """List files and the folders that they are in, of which the last character is a slash."""
    folders = {file[: at + 1] for file in files for at in range(len(file)) if file[at] == "/"}
    return sorted({*files, *folders})


def _picked(text: str, paths: Sequence[str]) -> list[str]:
    """Decide as a walk does: what is in a folder that is picked is never asked about."""
    rules = patterns(text)
    picked: list[str] = []
    for path in paths:
        in_picked = any(path.startswith(folder) for folder in picked if folder.endswith("/"))
        if in_picked or decide(rules, path.rstrip("/"), is_folder=path.endswith("/")):
            picked.append(path)
    return picked


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of git's with all the files in it."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", folder], check=True)
    for file in FILES + CHINESE:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    return folder


def _git(folder: Path, text: str, paths: Sequence[str]) -> list[str]:
    """Ask git which of the paths are ignored."""
    (folder / ".gitignore").write_bytes(text.encode())
    process = subprocess.run(
        ["git", "-C", folder, "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join(path.rstrip("/") for path in paths).encode(),
        capture_output=True,
    )
    assert process.returncode in {0, 1}, process.stderr
    ignored = {path.decode() for path in process.stdout.split(b"\0")}
    return [path for path in paths if path.rstrip("/") in ignored]
