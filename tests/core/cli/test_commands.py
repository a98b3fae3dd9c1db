"""The commands as a user types them: what they print, their exit codes, one line per mistake."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from ragkit.testing.stub_server.server import Fault, Reply, StubServer
from tests.commands import Commands, run

HANDBOOK = {
    "leave.md": "# Leave\n\nEvery employee has 26 days of annual leave.\n",
    "机房.md": "# 机房\n\n机房温度应保持在22℃至24℃之间。\n",
}


@pytest.fixture(scope="module")
def ragkit(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Commands on a database into which the handbook was ingested."""
    name = sql.Identifier("test_cli")
    folder = tmp_path_factory.mktemp("cli")
    (folder / "handbook").mkdir()
    for file, text in HANDBOOK.items():
        (folder / "handbook" / file).write_text(text, encoding="utf-8")
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(name))
        commands = Commands(database_url.replace("/postgres?", "/test_cli?"), folder)
        assert commands.json("ingest", "handbook")["documents"]["added"] == 2
        yield commands
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def test_a_command_that_is_run_here_leaves_logging_and_priority_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A later log line would be written to a closed stream; later tests would give way."""
    monkeypatch.setattr("os._exit", sys.exit)  # which `ragkit worker` ends by
    monkeypatch.setattr("ragkit_ingest.worker.worker.work", lambda *_, until_empty: sys.exit(0))
    root = logging.getLogger()

    def state() -> tuple[list[logging.Handler], int, int]:
        return root.handlers[:], root.level, os.getpriority(os.PRIO_PROCESS, 0)

    before = state()
    assert run("worker").returncode == 0
    assert state() == before


def test_ask_quotes_exactly_what_documents_show_prints(ragkit: Commands) -> None:
    for question, fact in (
        ("How many days of annual leave?", "26 days"),
        ("机房温度是多少？", "22℃至24℃"),
    ):
        answer = ragkit.json("ask", question)
        assert not answer["refused"]
        assert fact in answer["answer"]
        for citation in answer["citations"]:
            text = ragkit.json("documents", "show", str(citation["document"]))["text"]
            assert text[citation["start"] : citation["end"]] == citation["quote"]
            assert citation["verdict"] == "verified"


@pytest.mark.long
def test_a_process_prints_the_same_and_nothing_beside_it(ragkit: Commands) -> None:
    """No library warns, logs or shows progress on the streams that a script reads."""
    command = [sys.executable, "-m", "ragkit", "ask", "How many days of annual leave?", "--json"]
    others = {name: value for name, value in os.environ.items() if "RAGKIT_" not in name}
    done = subprocess.run(
        command,
        env=others | ragkit.environment,
        cwd=ragkit.folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    answers = json.loads(done.stdout), ragkit.json("ask", "How many days of annual leave?")
    for answer in answers:
        del answer["timings"]
    assert answers[0] == answers[1]


def test_ask_refuses_what_is_not_there(ragkit: Commands) -> None:
    answer = ragkit.json("ask", "Who won the football championship?")
    assert answer["refused"]
    assert answer["citations"] == []
    assert answer["reason"]


def test_ask_for_people_lists_numbered_sources(ragkit: Commands) -> None:
    out = ragkit("ask", "How many days of annual leave?").stdout
    assert out.startswith("Every employee has 26 days of annual leave. [1]")
    assert "[1] Leave (leave.md)" in out
    assert "quoted word for word" in out


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_search_finds_by_every_mode(ragkit: Commands, mode: str) -> None:
    (hit,) = ragkit.json("search", "annual leave", "-k", "1", "--mode", mode)["hits"]
    assert hit["uri"].endswith("leave.md")
    assert hit["title"] == "Leave"
    assert "26 days" in hit["text"]
    assert hit["end"] - hit["start"] == len(hit["text"])
    legs = {"hybrid": {"dense", "lexical"}, "dense": {"dense"}, "lexical": {"lexical"}}
    assert set(hit["scores"]) == legs[mode]


def test_search_shows_more_of_a_document_and_how_it_went(ragkit: Commands) -> None:
    options = ("--expand", "parent", "--trace", "--where", 'uri contains "leave"', "--no-rerank")
    found = ragkit.json("search", "annual leave", *options)
    (hit,) = found["hits"]
    assert hit["text"] == HANDBOOK["leave.md"].strip()
    stages = {stage["name"]: stage for stage in found["trace"]}
    assert list(stages)[-2:] == ["parents", "expand"]
    assert stages["dense"]["ranked"][0][1] == pytest.approx(hit["scores"]["dense"], abs=1e-5)
    assert ragkit.error("search", "leave", "--rerank", code=2).endswith("such as to cosine")


def test_why_names_the_stage_that_lost_a_document(ragkit: Commands) -> None:
    told = ragkit.json("ask", "How many days of annual leave?", "--why", "leave.md")
    assert (told["lost"], told["document"]["title"]) == (None, "Leave")
    assert told["steps"][-1]["says"].startswith("cited as [1]")


def test_ask_refuses_options_that_the_way_of_asking_leaves_unused(ragkit: Commands) -> None:
    for arguments, message in (
        (("--agent", "--why", "leave.md"), "not both"),
        (("--agent", "-k", "3"), "do not go with --agent"),
        (("--why", "leave.md", "-o", "seed=1"), "go with neither --agent nor --why"),
        (("--max-steps", "3"), "--max-steps goes with --agent"),
        (("--thoughts", "3"), "--thoughts goes with --agent"),
        (("--agent", "--steps"), "go with neither --agent nor --why"),
    ):
        assert message in ragkit("ask", "leave?", *arguments, code=2).stderr
    for options in (("--agent",), ("--agent", "--thoughts", "2"), ("--steps",), ("--samples", "3")):
        assert "set RAGKIT_LLM_URL" in ragkit.error("ask", "leave?", *options, code=2)


def test_help_lists_no_older_name_and_each_still_works(ragkit: Commands) -> None:
    listed = ragkit("--help").stdout
    for name in ("agent", "why", "calibrate", "recall", "reembed"):
        assert f"\n  {name} " not in listed
        assert "Usage: ragkit" in ragkit(name, "--help").stdout


def test_a_mistyped_command_is_told_which_one_is_near(ragkit: Commands) -> None:
    assert "Did you mean ingest?" in ragkit("ingset", "x", code=2).stderr
    assert "Did you mean" not in ragkit("xyzzy", code=2).stderr
    assert "您是不是要写 ingest？" in ragkit("ingset", code=2, LC_ALL="zh_CN.UTF-8").stderr


def test_documents_are_listed_and_deleted(ragkit: Commands) -> None:
    (ragkit.folder / "extra.txt").write_text("Something else entirely.")
    ragkit("ingest", "extra.txt", "--collection", "extra")
    (listed,) = ragkit.json("documents", "list", "--collection", "extra")["documents"]
    assert (listed["title"], listed["collection"], listed["version"]) == ("extra", "extra", 1)
    assert set(listed) == {
        *("id", "uri", "title", "collection", "language", "version", "chunks", "chars"),
        *("owner", "readers", "copies"),
    }
    ragkit("documents", "delete", "extra.txt", "--yes")
    assert ragkit.json("documents", "list", "--collection", "extra") == {"documents": []}
    assert "empty" in ragkit("documents", "list", "--collection", "extra").stdout
    names = [c["name"] for c in ragkit.json("collections", "list")["collections"]]
    assert names == ["default", "extra"]
    ragkit("collections", "delete", "extra")
    assert "no collection 'extra'" in ragkit.error("collections", "delete", "extra", code=2)


def test_a_document_is_named_as_people_know_it(ragkit: Commands) -> None:
    for name in ("leave.md", "leave", "Leave", f"{ragkit.folder}/handbook/leave.md", "leav"):
        assert ragkit.json("documents", "show", name)["title"] == "Leave"
    (version,) = ragkit.json("documents", "versions", "leave.md")["versions"]
    assert version["title"] == "Leave"
    line = ragkit.error("documents", "show", "handbook", code=2)
    assert "'handbook' may be 2 documents: " in line
    assert line.endswith("; name one by its number")
    line = ragkit.error("documents", "show", "pay.md", code=2)
    assert line == "ragkit: There is no document 'pay.md': `ragkit documents list` shows them all."
    for collection in ((), ("-c", "default")):
        line = ragkit.error("documents", "show", "liave.md", *collection, code=2)
        assert f"no document 'liave.md', but '{ragkit.folder}/handbook/leave.md'" in line


def test_documents_are_not_deleted_unasked(ragkit: Commands) -> None:
    line = ragkit.error("documents", "delete", "leave.md", code=2)
    assert f"({ragkit.folder}/handbook/leave.md)?" in line
    assert line.endswith("nothing was done; add --yes.")
    assert len(ragkit.json("documents", "list")["documents"]) == 2


def test_a_collection_with_documents_is_not_deleted_unasked(ragkit: Commands) -> None:
    """There is no terminal to ask at, whatever is piped in: the option is named."""
    line = ragkit.error("collections", "delete", "default", code=2)
    assert "2 documents?" in line
    assert line.endswith("nothing was done; add --yes.")
    assert len(ragkit.json("documents", "list")["documents"]) == 2


def test_doctor_finds_nothing_wrong(ragkit: Commands) -> None:
    report = ragkit.json("doctor")
    assert report["ok"]
    found = {check["name"]: check["found"] for check in report["checks"]}
    assert found["truncated chunks"] == "none"
    assert found["orphans"] == "none"
    assert found["database"].startswith("PostgreSQL")
    assert found["embedding model"].startswith("multilingual-e5-small")


def test_doctor_names_what_is_wrong(ragkit: Commands) -> None:
    done = ragkit("doctor", code=1, RAGKIT_LLM_URL="http://127.0.0.1:9/v1", RAGKIT_LLM_MODEL="any")
    assert "FAIL  language model" in done.stdout
    assert "127.0.0.1:9" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (("ingest", "nowhere"), 2, ("nowhere", "check the path")),
        (("ask", "why?", "--collection", "nope"), 2, ("'nope'", "'default'", "--collection NAME")),
        (("search", "x", "--collection", "nope"), 2, ("'nope'", "'default'", "--collection NAME")),
        (("documents", "show", "999999"), 2, ("999999", "ragkit documents list")),
        (("documents", "delete", "999999"), 2, ("999999", "ragkit documents list")),
        (("search", "？！"), 2, ("no word",)),
        (("search", ""), 2, ("no word",)),
        (("search", "leave", "-k", "0"), 2, ("1 to 1000",)),
    ],
)
def test_a_mistake_is_one_line_with_the_remedy(
    ragkit: Commands, arguments: tuple[str, ...], code: int, parts: tuple[str, ...]
) -> None:
    line = ragkit.error(*arguments, code=code)
    for part in parts:
        assert part in line


def test_a_query_that_begins_with_a_dash_is_told_its_place(ragkit: Commands) -> None:
    done = ragkit("search", "-rudder", code=2)
    line = done.stderr.splitlines()[-1]
    assert line == (
        "Error: No such option: -r. For a word that begins with a dash, write -- before it:"
        " ragkit search -- QUERY"
    )
    line = ragkit("search", "-rudder", code=2, LC_ALL="zh_CN.UTF-8").stderr.splitlines()[-1]
    assert "以 - 开头的词请写在 -- 之后：ragkit search -- QUERY" in line
    assert "leave.md" in ragkit("search", "--", "-leave").stdout
    assert "--collection" in ragkit("search", "x", "--colection", "y", code=2).stderr
    assert "begins with a dash" not in ragkit("doctor", "-z", code=2).stderr


def test_a_database_that_is_down_is_one_line(ragkit: Commands) -> None:
    line = ragkit.error(
        "ask", "why?", code=1, RAGKIT_DATABASE_URL="postgresql://me:secret@127.0.0.1:9/x"
    )
    assert "127.0.0.1" in line
    assert "secret" not in line


def test_a_model_that_is_not_there_is_one_line_and_loses_nothing(ragkit: Commands) -> None:
    line = ragkit.error("ingest", "handbook", code=1, RAGKIT_EMBED_MODEL="nobody/no-such-model")
    assert "nobody/no-such-model" in line
    assert len(ragkit.json("documents", "list")["documents"]) == 2


def test_a_failing_file_gives_exit_code_3_and_a_table(ragkit: Commands) -> None:
    (ragkit.folder / "bad").mkdir(exist_ok=True)
    (ragkit.folder / "bad" / "broken.pdf").write_bytes(b"%PDF-1.7\nbroken")
    (ragkit.folder / "bad" / "good.txt").write_text("This one is fine.")
    report = ragkit.json("ingest", "bad", "--collection", "bad", code=3)
    assert report["documents"] == {
        "added": 1,
        "updated": 0,
        "unchanged": 0,
        "deleted": 0,
        "copies": 0,
        "lost": 0,
        "failed": 1,
    }
    (failure,) = report["failures"]
    assert failure["uri"].endswith("broken.pdf")
    assert failure["stage"] == "parse"
    out = ragkit("ingest", "bad", "--collection", "bad", code=3).stdout
    assert "broken.pdf" in out
    assert failure["reason"] in out


def test_a_language_model_answers_with_citations(ragkit: Commands) -> None:
    with StubServer(lambda messages: "You have 26 days [1], or 31 days [1].") as server:
        done = ragkit(
            *("ask", "How many days of annual leave?"),
            RAGKIT_LLM_URL=server.url,
            RAGKIT_LLM_MODEL="stub",
        )
    assert done.stdout.startswith("You have 26 days [1], or 31 days [1].")
    assert "Unverified: in no cited source: '31'" in done.stdout


def test_a_language_model_that_is_down_is_one_line(ragkit: Commands) -> None:
    line = ragkit.error(
        *("ask", "How many days of annual leave?"),
        code=1,
        RAGKIT_LLM_URL="http://127.0.0.1:9/v1",
        RAGKIT_LLM_MODEL="any",
    )
    assert "127.0.0.1:9" in line


def test_decoding_options_reach_the_model_and_reasoning_stays_apart(ragkit: Commands) -> None:
    reply = Reply("You have 26 days [1].", reasoning="Let me see.")
    with StubServer(lambda messages: reply) as server:
        done = ragkit(
            *("ask", "How many days of annual leave?", "--show-reasoning"),
            *("-o", "temperature=0.5", "-o", "top_p=0.9", "-o", "top_k=40", "-o", "min_p=0.1"),
            *("-o", "repetition_penalty=1.1", "-o", "presence_penalty=0.2", "-o", "max_tokens=50"),
            *("-o", "stop=END", "-o", "stop=FIN", "--option", "seed=7"),
            RAGKIT_LLM_URL=server.url,
            RAGKIT_LLM_MODEL="stub",
            RAGKIT_LLM_TEMPERATURE="0.9",
        )
    assert done.stdout.startswith("You have 26 days [1].")
    assert "Let me see." not in done.stdout
    assert done.stderr == "Let me see.\n\n"
    (request,) = server.chats
    assert request.body == {
        "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "repetition_penalty": 1.1,
        "presence_penalty": 0.2, "max_tokens": 50, "stop": ["END", "FIN"], "seed": 7,
        "model": "stub", "messages": request.body["messages"],
        "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip


def test_an_answer_that_breaks_off_is_printed_and_marked_incomplete(ragkit: Commands) -> None:
    with StubServer(lambda messages: Fault(cut="quiet", text="You have 26")) as server:
        asked = ("ask", "How many days of annual leave?")
        named = {"RAGKIT_LLM_URL": server.url, "RAGKIT_LLM_MODEL": "stub"}
        shown = ragkit(*asked, code=1, **named)
        told = ragkit(*asked, "--json", code=1, **named)
    assert shown.stdout == "You have 26\n"
    (line,) = shown.stderr.splitlines()
    assert line.startswith("ragkit: the answer is incomplete: language-model server http://127")
    assert told.stderr.splitlines() == [line]
    assert json.loads(told.stdout) == {
        "answer": "You have 26",
        "refused": False,
        "reason": line.removeprefix("ragkit: "),
        "citations": [],
        "incomplete": True,
    }


def test_help_lists_only_commands_that_exist(ragkit: Commands) -> None:
    out = ragkit("--help").stdout
    for command in ("ingest", "search", "ask", "documents", "collections", "db", "doctor"):
        assert f"  {command}" in out
        assert "Usage: " in ragkit(command, "--help").stdout
