"""No file of the server comes back, by any route, method, parameter, header or uploaded file."""

from __future__ import annotations

import http.client
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit_ingest.worker.worker import work
from tests.serve.api.conftest import Live, Serve, Site

PLANTED: Final = "planted 5f0e2c words of the server's own"
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "COPY")
# What serves files, with names that are not its own.
FILES: Final = (
    "/ui/static/{}",
    "/assets/{}",
    "/static/{}",
    "/static/fonts/{}",
    "/file={}",
    "/gradio_api/file={}",
    "/gradio_api/file/{}",
    "/gradio_api/stream/{}",
    "/gradio_api/download/{}",
    "/custom_component/{}/client/component/index.js",
    "/login?next={}",
    "/?__theme={}",
    "/{}",
)


@dataclass(frozen=True, slots=True)
class Planted:
    """A file of the server's, and the names by which somebody may ask for it."""

    path: Path
    names: tuple[str, ...]


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planted:
    """A file beside the working folder, of a kind that would be read as a document."""
    work_folder = tmp_path / "work"
    work_folder.mkdir()
    path = tmp_path / "planted.txt"
    path.write_text(PLANTED)
    (work_folder / "planted.txt").write_text(PLANTED)
    (work_folder / "link.txt").symlink_to(path)
    monkeypatch.chdir(work_folder)
    up = "../" * 12
    names = (
        str(path),
        "../planted.txt",
        "planted.txt",
        "link.txt",
        up.rstrip("/") + str(path),
        f"file://{path}",
        "/proc/self/cwd/planted.txt",
        f"..\\..\\{path}",
        f"{path}\0.css",
        f"....//....//{path}",
    )
    return Planted(path, names)


@pytest.fixture
def live(serve: Serve, key: Callable[..., str], alone: None, tmp_path: Path) -> Iterator[Live]:
    """A server with the page, whose own files are kept where the test sees them."""
    with serve(ui=True, serve_key_rate=1_000_000, home=tmp_path / "home") as live:
        yield live


@pytest.fixture
def headers(key: Callable[..., str]) -> dict[str, str]:
    return {"Authorization": f"Bearer {key('read', 'write', 'admin', 'metrics')}"}


class Connection:
    """A connection that sends paths as they are written."""

    def __init__(self, live: Live, headers: dict[str, str]) -> None:
        address = httpx.URL(live.url)
        self._http = http.client.HTTPConnection(address.host, address.port or 80, timeout=60)
        self._headers = headers

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        sent = self._headers | {"Host": "localhost"} | headers
        self._http.request(method, path, body or None, sent)
        response = self._http.getresponse()
        return response.status, response.read() + str(response.getheaders()).encode()


def spellings(name: str) -> tuple[str, str, str]:
    """Write a name as a part of a path: as it is, encoded once, and twice."""
    once = quote(name, safe="")
    return quote(name, safe="/.:"), once, quote(once, safe="")


def written(folder: Path) -> dict[str, bytes]:
    """Read every file of a folder, but those that the server keeps for itself."""
    home = folder / "home"
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and home not in path.parents
    }


@pytest.mark.long
def test_no_path_of_any_method_gives_a_file_of_the_server(
    live: Live, headers: dict[str, str], planted: Planted, tmp_path: Path
) -> None:
    document = httpx.get(f"{live.url}/openapi.json", headers=headers).json()
    patterns = [path for path in document["paths"] if "{" in path]
    assert len(patterns) > 12
    routes = [pattern.replace("{version}", "1").split("{")[0] + "{}" for pattern in patterns]
    before = written(tmp_path)
    statuses = set()
    connection = Connection(live, headers)
    for pattern in sorted({*routes, *patterns_with_rest(patterns), *FILES}):
        for n, name in enumerate(planted.names):
            plain, *others = spellings(name)
            requests = [("GET", plain)]
            if n < 2:
                requests += [(method, plain) for method in METHODS[1:]]
                requests += [("GET", other) for other in others]
            for method, spelling in requests:
                status, answer = connection.ask(method, pattern.format(spelling))
                assert PLANTED.encode() not in answer, (method, pattern, spelling)
                assert status < 500, (method, pattern, spelling)
                statuses.add(status)
    assert {400, 404, 405} <= statuses
    assert written(tmp_path) == before


def patterns_with_rest(patterns: list[str]) -> Iterator[str]:
    """Give each route with a name in the place of its first parameter and 1 in the others'."""
    for pattern in patterns:
        start, _, rest = pattern.partition("{")
        tail = rest.partition("}")[2]
        while "{" in tail:
            left, _, right = tail.partition("{")
            tail = left + "1" + right.partition("}")[2]
        yield start + "{}" + tail


@pytest.mark.long
def test_no_query_header_or_field_names_a_file_of_the_server(
    live: Live, headers: dict[str, str], planted: Planted, tmp_path: Path
) -> None:
    document = httpx.get(f"{live.url}/openapi.json", headers=headers).json()
    before = written(tmp_path)
    connection = Connection(live, headers)

    def ask(method: str, path: str, value: Any = None, **more: str) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        kind = {"Content-Type": "application/json"} if body else {}
        status, answer = connection.ask(method, path, body, **kind, **more)
        assert PLANTED.encode() not in answer, (method, path, value, more)
        assert status < 500, (method, path, value, more)

    asked = 0
    several = cycle([planted.names[n : n + 2] for n in range(0, len(planted.names), 2)])
    for path, methods in document["paths"].items():
        url = path.replace("{id}", "1").replace("{name}", "default").replace("{version}", "1")
        url = url.replace("{model}", "ragkit")
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                for name in next(several) if parameter["in"] == "query" else ():
                    ask(method.upper(), f"{url}?{parameter['name']}={quote(name, safe='')}")
                    asked += 1
            for name in next(several):
                for value in bodies(document, operation, name):
                    ask(method.upper(), url, value)
                    asked += 1
    assert asked > 200
    for name in planted.names:
        if "\0" not in name:
            for header in ("X-Original-URL", "X-Rewrite-URL", "X-Accel-Redirect", "X-Sendfile"):
                ask("GET", "/v1/models", **{header: name})
            for header in ("Range", "If-Range", "Accept-Language", "X-Request-Id", "Cookie"):
                ask("GET", "/ui/static/ragkit.css", **{header: name})
    assert written(tmp_path) == before


def bodies(document: dict[str, Any], operation: dict[str, Any], name: str) -> Iterator[Any]:
    """Give an operation's example with a name in the place of each of its fields."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return
    schema = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
    example = schema["examples"][0]
    for field in [*schema["properties"], "uri", "path", "file"]:
        yield {**example, field: name}
        yield {**example, field: [name]}
    if "messages" in example:
        parts = [{"type": kind, kind: {"url": name}} for kind in ("image_url", "file", "text")]
        yield {**example, "messages": [{"role": "user", "content": parts}]}
        for option in ("collection", "filter"):
            yield {**example, "ragkit": {option: name}}


@pytest.mark.long
def test_no_uploaded_file_brings_another_with_it(
    live: Live, headers: dict[str, str], planted: Planted, tmp_path: Path, site: Site
) -> None:
    """Names that lead elsewhere, links in archives, and formats that include files."""
    uploads = [(name.replace("\0", "%00"), b"harmless words") for name in planted.names]
    uploads += including(planted.path)
    before = written(tmp_path)
    with httpx.Client(base_url=live.url, headers=headers, timeout=60) as client:
        for name, content in uploads:
            files = {"file": (name, content)}
            answer = client.post("/v1/collections/default/documents", files=files)
            assert answer.status_code in {202, 400}, name
        settings = Settings(database_url=SecretStr(site.url), home=tmp_path / "home")
        work(settings, until_empty=True)
        listed = client.get("/v1/collections/default/documents", params={"limit": 100}).json()
        texts = []
        for document in listed["data"]:
            text = client.get(f"/v1/documents/{document['id']}/text").text
            source = client.get(f"/v1/documents/{document['id']}/source").text
            assert PLANTED not in text + source, document
            texts.append(text)
    assert sum("harmless words" in text for text in texts) >= len(including(planted.path))
    assert written(tmp_path) == before


def including(path: Path) -> list[tuple[str, bytes]]:
    """Make files whose formats can refer to others, each with words of its own besides."""
    rst = f"""harmless words

.. include:: {path}

.. literalinclude:: {path}

.. raw:: html
   :file: {path}

.. csv-table:: table
   :file: {path}
"""
    xml = (
        f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file://{path}">]>'
        "<a>harmless words &x;</a>"
    )
    html = (
        f'<p>harmless words</p><iframe src="file://{path}"></iframe>'
        f'<object data="{path}"></object><link rel="import" href="{path}"><!--#include'
        f' file="{path}" -->'
    )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("words.txt", "harmless words")
        packed.writestr("../escaped.txt", "harmless words")
        packed.writestr(str(path.with_name("absolute.txt")), "harmless words")
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = 0o120777 << 16
        packed.writestr(link, str(path))
    return [
        ("a.rst", rst.encode()),
        ("a.html", html.encode()),
        ("a.md", f"harmless words ![x]({path}) [y](file://{path})\n\n!include {path}".encode()),
        ("a.xml", xml.encode()),
        ("a.zip", archive.getvalue()),
    ]
