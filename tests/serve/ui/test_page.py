"""The page's events as functions, the page as it is served, and what of Gradio can be reached."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from ragkit import keys
from ragkit.errors import NotFoundError, QueryError, UsageError
from ragkit.library import Caller
from ragkit.store.uploads import UploadJobs
from ragkit.types import Hit
from ragkit_serve.api.app import create_app
from ragkit_serve.services import Services
from ragkit_serve.ui import browse, stages
from ragkit_serve.ui.acts import Acts
from ragkit_serve.ui.frontend import own
from ragkit_serve.ui.page import page
from ragkit_serve.ui.words import LANGUAGES, WORDS

EN = WORDS["en"]
NOBODY_MAY_WRITE = Caller("default", "reader")
MANUALS_ONLY = Caller("default", "reader", collections=("manuals",))


@pytest.fixture
def acts(services: Services) -> Acts:
    return Acts(services, EN)


def client(app: FastAPI, language: str = "en") -> TestClient:
    return TestClient(
        app, base_url="http://127.0.0.1", headers={"accept-language": language, "accept": "*/*"}
    )


def number(services: Services, uri: str) -> int:
    store = services.database.store("default")
    found = [one for name in ("default", "manuals") for one in store.documents(name)]
    return next(one.id for one in found if one.uri == uri)


# What the events do


def test_a_caller_begins_with_the_collections_that_are_there_for_him(
    acts: Acts, caller: Caller
) -> None:
    collection, only, adding, options = acts.load(caller)
    assert collection["choices"] == ["default", "manuals"]
    assert collection["value"] == "default"
    assert [title for title, _ in only["choices"]] == ["Leave", "Wings", "差旅规定"]
    assert adding["visible"] is True
    assert json.loads(options) == {
        **{"collection": "default", "documents": [], "mode": "hybrid", "passages": 5}
    }


def test_a_reader_of_one_collection_sees_that_one_and_no_upload(acts: Acts) -> None:
    collection, only, adding, options = acts.load(MANUALS_ONLY)
    assert collection["choices"] == ["manuals"]
    assert [title for title, _ in only["choices"]] == ["Pump"]
    assert adding["visible"] is False
    assert json.loads(options)["collection"] == "manuals"


def test_a_collection_that_is_not_there_for_the_caller_is_not_listed(acts: Acts) -> None:
    with pytest.raises(NotFoundError, match="no collection 'default'"):
        acts.list(MANUALS_ONLY, "default", "")


def test_documents_are_found_by_a_part_of_their_name(acts: Acts, caller: Caller) -> None:
    table, said = acts.list(caller, "default", "WING")
    assert [row[1:3] for row in table] == [["Wings", ""]]
    assert said == "1 of 3 documents"


def test_of_very_many_documents_the_first_are_there_and_all_are_counted(
    services: Services, acts: Acts, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragkit_serve.ui.acts.MAX_SHOWN", 1)
    monkeypatch.setattr("ragkit_serve.ui.acts.MAX_CHOICES", 2)
    table, said = acts.list(caller, "default", "")
    assert [row[1] for row in table] == ["Leave"]
    assert said == "1 of 3 documents"
    only = acts.load(caller)[1]
    assert [title for title, _ in only["choices"]] == ["Leave", "Wings"]
    assert only["info"] == "All documents. To choose from: 2 of 3 documents"
    found = browse.documents(services, caller, "default", limit=1)
    some = replace(found, matched=1200, all=5000)
    assert browse.counted(some, EN) == "1 of 1,200 documents found; there are 5,000"
    assert browse.counted(some, WORDS["zh"]) == "找到 1,200 个文档，显示 1 个；共有 5,000 个"


def test_a_document_is_read_with_its_page_marks(services: Services, acts: Acts) -> None:
    document = number(services, "manual.md")
    text, chosen, delete = acts.read(MANUALS_ONLY, [str(document), "Pump"])
    assert (text["value"], text["label"]) == ("The pump runs at 900 revolutions a minute.", "Pump")
    assert chosen == str(document)
    assert delete["visible"] is False


def test_a_document_of_another_collection_is_not_there(services: Services, acts: Acts) -> None:
    with pytest.raises(NotFoundError, match="no document"):
        acts.read(MANUALS_ONLY, [str(number(services, "wings.md"))])


@pytest.mark.parametrize("forged", ["", "x", "-1", "1.5", "9" * 40, "²"])
def test_what_is_no_document_is_not_there(acts: Acts, caller: Caller, forged: str) -> None:
    with pytest.raises(NotFoundError, match="no document"):
        acts.read(caller, [forged])


def test_only_who_may_write_deletes(services: Services, acts: Acts) -> None:
    with pytest.raises(UsageError, match="may not change documents"):
        acts.delete(NOBODY_MAY_WRITE, str(number(services, "wings.md")), "default", "")


def test_files_are_handed_over_each_for_itself_and_failures_explained(
    services: Services, acts: Acts, caller: Caller, tmp_path: Path
) -> None:
    files = [tmp_path / "new.md", tmp_path / "nameless"]
    for file in files:
        file.write_text("# New\n\nThe rotor has 5 blades.")
    cleared, kept, table, timer = acts.upload(caller, [*map(str, files)], "manuals", "")
    assert cleared is None
    assert timer.active is True
    assert table["value"][0] == ["new.md", "waiting", ""]
    assert table["value"][1][:2] == ["nameless", "failed"]
    assert "has no extension" in table["value"][1][2]
    assert [file.exists() for file in files] == [False, False]
    (job,) = json.loads(kept)["jobs"]
    assert UploadJobs(services.database.pool, "default").get(job).collection == "manuals"
    rows, timer, _, _ = acts.progress(caller, kept, "manuals", "")
    assert [row[1] for row in rows] == ["waiting", "failed"]
    assert timer.active is True
    elsewhere = Caller("default", "x", collections=("default",))
    assert browse.progress(services, elsewhere, browse.Files((job,)), EN) == ([], False)


def test_who_may_not_write_uploads_nothing(acts: Acts, tmp_path: Path) -> None:
    file = tmp_path / "new.md"
    file.write_text("x")
    with pytest.raises(UsageError, match="may not change documents"):
        acts.upload(NOBODY_MAY_WRITE, [str(file)], "default", "")
    assert not file.exists()


@pytest.mark.parametrize("kept", ["", "{}", "nonsense", "[1]", '{"jobs": ["x"]}', '{"jobs": 3}'])
def test_what_the_page_remembers_may_be_anything(acts: Acts, caller: Caller, kept: str) -> None:
    rows, timer, _, _ = acts.progress(caller, kept, "default", "")
    assert (rows, timer.active) == ([], False)


def test_a_search_shows_what_each_stage_returned(acts: Acts, caller: Caller) -> None:
    hits, times, said = acts.find(caller, "paid holiday", "default", [], "hybrid", 3)
    assert hits[0][:3] == ["1", "Leave", "1"]
    assert hits[0][5] == hits[0][7] == "1"
    assert [row[0] for row in times] == [
        *("embed the query", "search by meaning", "search by words", "fuse both"),
        *("fetch passages", "collapse duplicates", "show whole parents"),
    ]
    assert re.fullmatch(r"\d passages in \d+ ms", said)


def test_a_search_keeps_to_the_chosen_documents(
    services: Services, acts: Acts, caller: Caller
) -> None:
    wings = number(services, "wings.md")
    hits, _, _ = acts.find(caller, "holiday", "default", [wings], "dense", 10)
    assert {row[1] for row in hits} == {"Wings"}


def test_a_search_without_a_word_says_so(acts: Acts, caller: Caller) -> None:
    with pytest.raises(QueryError, match="no word"):
        acts.find(caller, "?!", "default", [], "hybrid", 3)


def test_ranks_of_the_legs() -> None:
    def hit(chunk: int, **scores: float) -> Hit:
        return Hit(1, chunk, "a/b.md", "", None, 0, 1, "x\ny", 1.5, scores)

    found = [hit(1, dense=0.2, lexical=4), hit(2, dense=0.9), hit(3, dense=0.2, lexical=7)]
    rows = stages.hit_rows(found)
    assert rows[0] == ["1", "b.md", "", "1.500", "0.200", "2", "4.000", "2", "x y"]
    assert [row[4:8] for row in rows[1:]] == [
        ["0.900", "1", "–", "–"],
        ["0.200", "2", "7.000", "1"],
    ]


# The page as it is served


def test_the_index_has_nothing_of_elsewhere_and_a_strict_policy(app: FastAPI) -> None:
    answer = client(app).get("/?__theme=dark&deep_link=x")
    assert answer.status_code == 200
    nonces = set(re.findall(r'<script nonce="([^"]+)"', answer.text))
    assert len(nonces) == 1
    assert answer.headers["content-security-policy"] == (
        f"default-src 'none'; script-src 'self' 'nonce-{nonces.pop()}'; style-src 'self'"
        " 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self';"
        " base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    assert not re.findall(r'<script(?! nonce=| type="module")[^>]*>', answer.text)
    loaded = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="([^"]+)"', answer.text)
    assert loaded
    assert all(re.match(r"\.?/(?!/)", address) for address in loaded)
    assert "og:image" not in answer.text
    assert "iframeResizer.contentWindow" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


def test_each_index_has_a_nonce_of_its_own(app: FastAPI) -> None:
    first, second = (client(app).get("/").headers["content-security-policy"] for _ in range(2))
    assert first != second


def test_the_page_speaks_the_browsers_language(app: FastAPI) -> None:
    english, chinese = client(app).get("/").text, client(app, "zh-CN,en;q=0.5").get("/").text
    assert '<html lang="en"' in english
    assert '<html lang="zh-CN"' in chinese
    assert '"value":"New conversation"' in english
    assert '"value":"新对话"' in chinese


def test_both_languages_have_the_same_controls(services: Services) -> None:
    shapes = []
    for language in LANGUAGES:
        config = page(services, language).get_config_file()
        shapes.append([component["type"] for component in config["components"]])
        assert all(not one["queue"] for one in config["dependencies"])
    assert shapes[0] == shapes[1]
    assert "html" not in shapes[0]  # it evaluates strings, which the policy forbids


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *(("GET", path, 404) for path in ("/config", "/login_check", "/token", "/monitoring")),
        *(("GET", f"/gradio_api/{path}", 404) for path in ("info", "file=/etc/passwd", "app_id")),
        ("GET", "/gradio_api/proxy=https://evil.example", 400),
        ("GET", "/gradio_api/heartbeat/x", 404),
        ("GET", "/gradio_api/queue/data?session_hash=x", 404),
        ("POST", "/gradio_api/queue/join", 404),
        ("POST", "/gradio_api/call/x", 404),
        ("POST", "/gradio_api/component_server", 404),
        ("GET", "/gradio_api/run/predict", 405),
        ("POST", "/", 405),
        ("PUT", "/v1/models", 405),
        ("PUT", "/v1/nothing", 404),
        ("GET", "/assets/%2e%2e/routes.py", 400),
        ("GET", "/static/..%2f..%2froutes.py", 400),
        ("GET", "/ui/static/mount.py", 404),
        ("GET", "/ui/static/ragkit.js", 200),
        ("GET", "/ui/static/server.js", 200),
        ("GET", "/theme.css", 200),
        ("GET", "/svelte/x", 404),
        ("GET", "/manifest.json", 404),
        ("GET", "/dev/reload", 404),
    ],
)
def test_what_of_gradio_can_be_reached(app: FastAPI, method: str, path: str, status: int) -> None:
    answer = client(app).request(method, path)
    assert answer.status_code == status
    assert "content-security-policy" in answer.headers or status == 400


def test_everything_needs_a_key_once_there_are_keys(services: Services) -> None:
    app = create_app(services, ui=True)  # no other has asked whether there are keys
    read = keys.create(services.database, name="r", scopes=("read",))
    metrics = keys.create(services.database, name="m", scopes=("metrics",))
    try:
        fresh = client(app)
        for path in (
            "/",
            "/theme.css",
            "/ui/static/ragkit.js",
            "/ui/static/server.js",
            f"/ui/conversations/{uuid.uuid4()}",
        ):
            assert fresh.get(path).status_code == 401
            unfit = fresh.get(path, headers={"authorization": f"Bearer {metrics.secret}"})
            assert unfit.status_code == 403
        bearer = {"authorization": f"Bearer {read.secret}"}
        assert fresh.get("/", headers=bearer).status_code == 200
        upload = fresh.post("/gradio_api/upload", headers=bearer, files={"files": b"x"})
        assert upload.status_code == 403
    finally:
        for key in (read, metrics):
            keys.revoke(services.database, key.access.id)


def test_an_event_reaches_its_function_in_any_process(app: FastAPI) -> None:
    """Gradio knows a dropdown's choices only in the process that gave them."""
    config = json.loads(
        re.search(r"window\.gradio_config = (.*?);</script>", client(app).get("/").text)[1]  # type: ignore[index]
    )
    ids = {
        one["props"].get("elem_id"): one["id"]
        for one in config["components"]
        if one["props"].get("elem_id")
    }
    event = next(
        one
        for one in config["dependencies"]
        if one["outputs"][:1] == [ids["rk-options"]] and len(one["inputs"]) == 4
    )
    answer = client(app).post(
        "/gradio_api/run/predict",
        json={
            "fn_index": event["id"],
            "session_hash": "somebody",
            "data": ["manuals", [3, "x"], "dense", 7],
        },
    )
    assert answer.status_code == 200, answer.text
    assert json.loads(answer.json()["data"][0]) == {
        **{"collection": "manuals", "documents": [3], "mode": "dense", "passages": 7}
    }


def test_foreign_scripts_and_styles_are_taken_out() -> None:
    html = (
        '<html lang="en"><head><base href="./" /><script src="https://x.example/a.js"></script>'
        '<link href="//fonts.example/css" rel="stylesheet"><link rel="manifest" href="/m.json" />'
        "<script>one</script><script data-x>two</script>"
        '<script type="module" src="./a.js"></script></head>'
    )
    assert own(html, nonce="N", language="zh") == (
        '<html lang="zh-CN"><head><script nonce="N">one</script>'
        '<script nonce="N" data-x>two</script><script type="module" src="./a.js"></script>'
        '<link rel="stylesheet" href="/ui/static/ragkit.css">'
        '<script type="module" src="/ui/static/ragkit.js"></script></head>'
    )
