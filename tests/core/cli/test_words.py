"""The command line in Chinese: which locale asks for it, what is translated, and what never is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from ragkit.cli.help import columns, translated, wrapped
from ragkit.cli.main import COMMANDS, app
from ragkit.cli.words import language, sentence
from ragkit.cli.words_zh import TEXTS
from ragkit.cli.words_zh_messages import MESSAGES
from tests.commands import Commands
from tests.core.test_import_time import loaded_by

CHINESE = "zh_CN.UTF-8"
FIRST = ("ingest", "ask", "chat", "search", "serve", "documents", "doctor", "config")


@pytest.fixture
def ragkit(fresh_database: str, tmp_path: Path) -> Commands:
    (tmp_path / "leave.md").write_text("# 年假\n\n员工每年有二十五天年假。\n", "utf-8")
    (tmp_path / "setup.exe").write_bytes(b"MZ")
    (tmp_path / "empty.txt").write_bytes(b"")
    return Commands(fresh_database, tmp_path)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "en_US.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "POSIX"}, "en"),
        ({"LANG": "en_US.UTF-8", "LANGUAGE": "zh_CN:zh:en"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "en_US:en"}, "en"),
        ({"LANGUAGE": "zh"}, "zh"),
        ({"LANG": "C", "LANGUAGE": "zh"}, "en"),
    ],
)
def test_the_locale_chooses_the_language(environment: dict[str, str], expected: str) -> None:
    assert language(environment) == expected


@pytest.mark.parametrize("table", [TEXTS, MESSAGES], ids=["texts", "messages"])
def test_the_chinese_has_the_same_places_for_values(table: dict[str, str]) -> None:
    places = re.compile(r"{(\w+)(?:!r)?}")
    for english, chinese in table.items():
        assert sorted(places.findall(english)) == sorted(places.findall(chinese)), english


@pytest.mark.parametrize("name", FIRST)
def test_the_help_of_the_first_commands_is_in_chinese(name: str) -> None:
    group: Any = typer.main.get_command(app)
    texts = [COMMANDS[name].help, *_texts(group.get_command(None, name))]
    assert [text for text in texts if translated(text) == text] == []


def _texts(command: Any) -> Iterator[str]:
    yield command.help
    yield from (parameter.help for parameter in command.params if parameter.help)
    for inner in getattr(command, "commands", {}).values():
        yield from _texts(inner)


def test_help_is_printed_in_lines_that_fit(ragkit: Commands) -> None:
    shown = ragkit("--help", LC_ALL=CHINESE).stdout
    assert shown.startswith("用法：ragkit [OPTIONS] COMMAND")
    assert re.search(r"\n  ingest +读取文件和文件夹，之后就可以对它们提问。\n", shown)
    for name in FIRST:
        lines = ragkit(name, "--help", LC_ALL=CHINESE).stdout.splitlines()
        assert "选项:" in lines
        assert max(columns(line) for line in lines) <= 80
    assert ragkit("--help").stdout.startswith("Usage: ragkit [OPTIONS] COMMAND")


def test_lines_are_broken_between_characters_and_never_begin_with_a_mark() -> None:
    assert wrapped("先读取文件，再提问。", 10) == ["先读取文", "件，再提", "问。"]
    assert wrapped("运行 ragkit ingest", 11) == ["运行 ragkit", "ingest"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("ask", "年假有多少天？"), "ragkit: 还没有读入任何文档，请先运行：ragkit ingest 文件夹"),
        (("documents", "list"), "ragkit: 还没有读入任何文档，请先运行：ragkit ingest 文件夹"),
        (("ingest", "nowhere"), "ragkit: 没有文件或文件夹 'nowhere'：请检查路径。"),
        (("ask",), "ragkit: 缺少参数 'QUESTION'。（用法见 `ragkit ask --help`）"),
        (("nonsense",), "ragkit: 没有命令 'nonsense'。（用法见 `ragkit --help`）"),
    ],
)
def test_the_first_mistakes_are_told_in_chinese(
    ragkit: Commands, arguments: tuple[str, ...], line: str
) -> None:
    assert ragkit.error(*arguments, code=2, LC_ALL=CHINESE) == line


def test_the_list_of_collections_says_what_to_do_first(ragkit: Commands) -> None:
    shown = ragkit("collections", "list", LC_ALL=CHINESE).stdout
    assert shown == "还没有读入任何文档，请先运行：ragkit ingest 文件夹\n"


def test_a_wrong_option_is_told_in_chinese(ragkit: Commands) -> None:
    line = ragkit.error("ingest", "--forse", "x", code=2, LC_ALL=CHINESE)
    assert line.startswith("ragkit: 没有选项 --forse")
    assert line.endswith("（用法见 `ragkit ingest --help`）")


def test_what_is_done_with_documents_is_told_in_chinese(ragkit: Commands) -> None:
    folder = str(ragkit.folder)
    done = ragkit("ingest", folder, code=3, LC_ALL=CHINESE).stdout
    assert re.sub(r"\d+\.\d", "N", done) == (
        "新增：1 个文档（1 个段落）\n"
        "跳过：1 个文件\n"
        "  ragkit 不支持的格式（.exe）：setup.exe\n"
        "失败：1 个文件\n"
        f"  {folder}/empty.txt：文件是空的（0 字节）\n"
        "用时：N 秒\n"
    )
    heading = ragkit("documents", "list", LC_ALL=CHINESE).stdout.splitlines()[0]
    assert heading.split() == "编号 标题 语言 版本 段落数 字符数 文件 所有者 可阅读者".split()
    line = ragkit.error("documents", "delete", "年假", code=2, LC_ALL=CHINESE)
    assert line.startswith("ragkit: 删除 1 个文档：1 (")
    assert line.endswith("没有终端可供确认：什么都没有做；请加上 --yes。")
    line = ragkit.error("documents", "show", "病假", code=2, LC_ALL=CHINESE)
    assert line == "ragkit: 没有文档 '病假'：`ragkit documents list` 可列出全部文档。"


def test_the_doctor_speaks_chinese(ragkit: Commands) -> None:
    shown = ragkit("doctor", LC_ALL=CHINESE).stdout
    assert "正常  文档：还没有\n      提示：ragkit ingest 文件夹\n" in shown
    assert "ok  " not in shown
    line = ragkit.error(
        "ask", "?", code=1, RAGKIT_DATABASE_URL="postgresql://127.0.0.1:9/x", LC_ALL=CHINESE
    )
    assert "无法连接" in line


def test_json_is_the_same_in_every_language(ragkit: Commands) -> None:
    ragkit("ingest", "leave.md")
    for arguments in (
        ("documents", "list"),
        ("collections", "list"),
        ("documents", "show", "leave.md"),
        ("doctor",),
        ("ingest", str(ragkit.folder), "--dry-run"),
    ):
        chinese = ragkit(*arguments, "--json", LC_ALL=CHINESE).stdout
        assert chinese == ragkit(*arguments, "--json").stdout


def test_a_message_that_is_not_known_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert sentence("something else (with {braces})") == "something else (with {braces})"
    assert sentence("a format that ragkit does not read (.a{b})") == "ragkit 不支持的格式（.a{b}）"


def test_english_loads_no_chinese() -> None:
    code = "import ragkit.cli.main, ragkit.cli.words; ragkit.cli.words.say('Sources')"
    names = f"{code}; print(*[name for name in sys.modules if 'words_zh' in name]); sys.exit()"
    assert loaded_by(names) == set()
