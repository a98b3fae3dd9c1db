"""What the page's routes tell, the page as it is served, and what of Gradio can be reached."""

from __future__ import annotations

import re
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from ragkit.access import keys
from ragkit.access.library import Caller
from ragkit.contracts import Embedder
from ragkit.embed.bundled import NAME as BILINGUAL
from ragkit.embed.local import LocalEmbedder
from ragkit.store.documents.sharing import Change, Shares
from ragkit.testing import FakeEmbedder
from ragkit.testing.corpus import fill, new_document
from ragkit.types import NewDocument
from ragkit_serve.api.access import CALLER
from ragkit_serve.api.app import create_app
from ragkit_serve.api.gate import COOKIE
from ragkit_serve.api.services import Services
from ragkit_serve.page.frontend import Frontend, own
from ragkit_serve.page.page import page
from ragkit_serve.page.words import LANGUAGES

SignIn = Callable[..., TestClient]


def client(app: FastAPI, language: str = "en") -> TestClient:
    return TestClient(
        app, base_url="http://127.0.0.1", headers={"accept-language": language, "accept": "*/*"}
    )


# What the page's own routes tell


@pytest.fixture(scope="module")
def app_with_keys(services: Services) -> FastAPI:
    return create_app(services, ui=True)  # `app` has seen that there are none


@pytest.fixture
def signed_in(services: Services, app_with_keys: FastAPI) -> Iterator[SignIn]:
    """Return a client of the page with a new key: `signed_in("read", collections=("manuals",))`."""
    made: list[keys.NewKey] = []
    app = app_with_keys

    def create(*scopes: Any, collections: Sequence[str] | None = None) -> TestClient:
        made.append(
            keys.create(services.database, name="page", scopes=scopes, collections=collections)
        )
        with_key = client(app)
        with_key.headers["authorization"] = f"Bearer {made[-1].secret}"
        return with_key

    yield create
    for key in made:
        keys.revoke(services.database, key.access.id)


def test_a_page_begins_with_who_asks_and_what_he_may_do(signed_in: SignIn) -> None:
    told = signed_in("read", "write").get("/ui/me").json()
    assert told == {
        "principal": "",
        **{"logged_in": False, "writes": True, "manages": False, "collection": "default"},
        **{"model": None, "quotes": True, "passages": 5, "max_upload_mb": 64},
    }
    reader = signed_in("read", collections=("manuals",)).get("/ui/me").json()
    assert (reader["writes"], reader["collection"]) == (False, None)


def test_a_cookie_that_was_left_is_no_log_in(services: Services) -> None:
    settings = services.settings.model_copy(update={"serve_auth": "none"})
    open_to_all = Services(settings, services.database, services.library)
    anybody = client(create_app(open_to_all, ui=True))
    anybody.cookies.set(COOKIE, "0" * 64)
    told = anybody.get("/ui/me").json()
    assert (told["principal"], told["logged_in"]) == ("", False)


def test_documents_are_listed_by_name(signed_in: SignIn) -> None:
    listed = signed_in("read").get("/ui/documents/default").json()
    assert [one["name"] for one in listed["documents"]] == ["Leave", "Wings", "差旅规定"]
    assert (listed["matched"], listed["all"]) == (3, 3)
    wings = listed["documents"][1]
    assert wings.keys() == {
        *("id", "job", "name", "file", "type", "uri", "state", "reason", "done", "total", "date"),
        *("size_bytes", "is_text_size", "has_file"),
        *("language", "chunks", "chars", "pages", "version"),
    }
    assert (wings["state"], wings["job"], wings["is_text_size"]) == ("done", None, True)


def test_documents_are_sorted_and_uploads_are_listed_with_them(signed_in: SignIn) -> None:
    page = signed_in("read", "write")
    file = {"file": ("b&b.docx", b"no Word")}
    (job,) = page.post("/v1/collections/manuals/documents", files=file).json()["data"]
    path = "/ui/documents/manuals?uploads=true&sort=state"
    first, second = page.get(path).json()["documents"]
    assert (first["id"], first["job"], first["state"]) == (None, job["id"], "queued")
    assert (first["name"], first["file"], first["type"]) == ("b&b.docx", "b&b.docx", "Word")
    assert (first["size_bytes"], first["is_text_size"]) == (7, False)
    assert second["name"] == "Pump"
    last = page.get(path + "&descending=true&limit=1&offset=1").json()["documents"]
    assert [one["job"] for one in last] == [job["id"]]
    chinese = page.get(path, headers={"accept-language": "zh"}).json()["documents"]
    assert chinese[0]["type"] == "Word 文档"
    assert page.delete(f"/v1/jobs/{job['id']}").status_code == 409


def test_documents_are_found_by_a_part_of_their_name(signed_in: SignIn) -> None:
    listed = signed_in("read").get("/ui/documents/default?part=%20WING").json()
    assert [one["name"] for one in listed["documents"]] == ["Wings"]
    assert (listed["matched"], listed["all"]) == (1, 3)


def test_of_many_documents_the_first_are_listed_and_all_counted(signed_in: SignIn) -> None:
    listed = signed_in("read").get("/ui/documents/default?limit=1").json()
    assert [one["name"] for one in listed["documents"]] == ["Leave"]
    assert (listed["matched"], listed["all"]) == (3, 3)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/ui/documents/manuals", 200),
        ("/ui/documents/default", 404),
        ("/ui/documents/nowhere", 404),
        ("/ui/documents/manuals?limit=0", 400),
        ("/ui/documents/manuals?limit=501", 400),
        ("/ui/documents/manuals?offset=-1", 400),
        ("/ui/documents/manuals?offset=99999999999", 400),
        ("/ui/documents/manuals?sort=owner", 400),
        ("/ui/documents/manuals?part=" + "x" * 201, 400),
    ],
)
def test_a_reader_of_one_collection_is_told_of_no_other(
    signed_in: SignIn, path: str, status: int
) -> None:
    answer = signed_in("read", collections=("manuals",)).get(path)
    assert answer.status_code == status
    assert "Wings" not in answer.text


@pytest.mark.parametrize(
    ("embedder", "language", "notice"),
    [
        (
            LocalEmbedder("minilm"),
            "en",
            "2 documents in Chinese are found by words only:"
            " the embedding model all-MiniLM-L6-v2 does not read Chinese.",
        ),
        (
            LocalEmbedder("minilm"),
            "zh-CN",
            "2 个中文文档只能按词语检索：嵌入模型 all-MiniLM-L6-v2 不支持中文。",
        ),
        (
            LocalEmbedder(BILINGUAL),
            "en",
            "Documents and questions can be in English, Chinese and about a hundred others.",
        ),
        (LocalEmbedder(BILINGUAL), "zh-CN", "文档和问题可以使用中文、英文等约一百种语言。"),
        (FakeEmbedder(), "en", ""),
    ],
    ids=["unread, en", "unread, zh", "read, en", "read, zh", "unknown"],
)
def test_the_page_says_what_the_collections_model_reads(
    signed_in: SignIn, services: Services, embedder: Embedder, language: str, notice: str
) -> None:
    store = services.database.store("default")
    fill(store, embedder, [_chinese("岗位.md"), _chinese("机房.md")], collection="old")
    try:
        answer = signed_in("read").get("/ui/notice/old", headers={"accept-language": language})
        assert answer.json() == {"notice": notice}
    finally:
        store.delete_collection("old")


def test_what_is_noted_counts_what_the_reader_may_read(
    signed_in: SignIn, services: Services
) -> None:
    store = services.database.store("default")
    fill(
        store, LocalEmbedder("minilm"), [_chinese("岗位.md"), _chinese("机房.md")], collection="old"
    )
    try:
        hidden, _ = store.documents("old")
        shares = Shares(services.database.pool, "default")
        shares.document(hidden.id, Change(readers=("user:somebody",)))
        notice = signed_in("read").get("/ui/notice/old").json()["notice"]
        assert notice.startswith("1 document in Chinese is found by words only")
    finally:
        store.delete_collection("old")


def _chinese(uri: str) -> NewDocument:
    return replace(new_document(uri, "机房温度应该保持在二十二度。"), language="zh")


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


def test_both_languages_have_the_same_controls_and_no_events() -> None:
    shapes = []
    for language in LANGUAGES:
        config = page(language).get_config_file()
        shapes.append([component["type"] for component in config["components"]])
        assert config["dependencies"] == []
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
        *((method, "/gradio_api/run/predict", 404) for method in ("GET", "POST")),
        *((method, "/gradio_api/upload", 404) for method in ("GET", "POST")),
        ("GET", "/gradio_api/upload_progress?upload_id=x", 404),
        ("POST", "/", 405),
        ("PUT", "/v1/models", 405),
        ("PUT", "/v1/nothing", 404),
        ("GET", "/assets/%2e%2e/routes.py", 400),
        ("GET", "/static/..%2f..%2froutes.py", 400),
        ("GET", "/ui/static/mount.py", 404),
        ("GET", "/ui/static/ragkit.js", 200),
        ("GET", "/ui/static/uploads.js", 200),
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
        for path in ("/ui/static/look.css", "/ui/static/mark.svg"):  # the log-in page's
            assert fresh.get(path).status_code == 200
        upload = fresh.post(
            "/v1/collections/default/documents", headers=bearer, files={"file": ("a.md", b"x")}
        )
        assert upload.status_code == 403
    finally:
        for key in (read, metrics):
            keys.revoke(services.database, key.access.id)


@pytest.mark.parametrize("path", ["file=/etc/passwd", "run/predict", "component_server"])
def test_behind_the_list_gradio_has_nothing_to_give_either(app: FastAPI, path: str) -> None:
    """The second line of defence: no events, no path that may be read."""
    frontend = next(
        route.app
        for route in app.routes
        if isinstance(route, Mount) and isinstance(route.app, Frontend)
    )
    for inner in frontend._pages.values():
        direct = TestClient(inner, "http://127.0.0.1", raise_server_exceptions=False)
        if "file=" in path:
            answer = direct.get(f"/gradio_api/{path}")
        else:
            file = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
            answer = direct.post(f"/gradio_api/{path}", json={"fn_index": 0, "data": [[file]]})
        assert answer.status_code >= 400
        assert "root:" not in answer.text


def test_gradio_is_handed_no_body_no_query_and_no_headers_of_proxies(services: Services) -> None:
    """Whatever a client sends with a GET, the page's own app sees none of it."""
    seen: list[tuple[bytes, bytes]] = []
    names: set[bytes] = set()

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((scope["query_string"], (await receive())["body"]))
        names.update(name for name, _ in scope["headers"])
        await PlainTextResponse("x")(scope, receive, send)

    async def let_in(scope: Scope, receive: Receive, send: Send) -> None:
        await Frontend({"en": inner})({**scope, CALLER: Caller("default", "x")}, receive, send)

    outside = TestClient(let_in, "http://127.0.0.1")
    for path in ("/", "/theme.css", "/static/a.js"):
        elsewhere = {"x-forwarded-host": "evil.example", "x-gradio-server": "http://evil.example"}
        outside.request("GET", path + "?__theme=dark", content=b"{}", headers=elsewhere)
    assert seen == [(b"", b"")] * 3
    assert b"host" in names
    assert not [name for name in names if name.startswith(b"x-")]


def test_the_page_makes_no_files(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left of an upload, because none is ever put down outside the database."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    settings = services.settings.model_copy(update={"home": tmp_path / "home"})
    app = create_app(Services(settings, services.database, services.library), ui=True)
    sent = client(app)
    assert sent.get("/").status_code == 200
    upload = {"file": ("large.md", b"# Rotor\n\nIt has 5 blades. " + b"x " * (1 << 20))}
    answer = sent.post("/v1/collections/manuals/documents", files=upload)
    assert answer.status_code == 202
    assert [str(path) for path in tmp_path.rglob("*")] == [str(tmp_path / "tmp")]


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
        '<link rel="stylesheet" href="/ui/static/look.css">'
        '<link rel="stylesheet" href="/ui/static/ragkit.css">'
        '<link rel="stylesheet" href="/ui/static/documents.css">'
        '<link rel="stylesheet" href="/ui/static/side.css">'
        '<link rel="stylesheet" href="/ui/static/welcome.css">'
        '<link rel="icon" href="/ui/static/mark.svg" type="image/svg+xml">'
        '<link rel="stylesheet" href="/ui/static/original.css">'
        '<script type="module" src="/ui/static/ragkit.js"></script></head>'
    )
