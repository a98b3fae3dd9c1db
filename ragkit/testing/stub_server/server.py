"""A scripted server that speaks the OpenAI wire format without a model behind it.

It lets ragkit's language-model path be tried, tested and loaded on any machine.
"""

import argparse
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from ragkit.testing.stub_server.cache import PrefixCache
from ragkit.testing.stub_server.frames import pieces
from ragkit.testing.stub_server.http import StubHTTPServer
from ragkit.testing.stub_server.script import (
    Embed,
    Fault,
    Reply,
    Request,
    Script,
    ToolCall,
    hash_terms,
    quote_first_source,
)

__all__ = [
    "Fault",
    "Reply",
    "Request",
    "Script",
    "StubServer",
    "ToolCall",
    "main",
    "quote_first_source",
]


class StubServer:
    """Serve scripted answers on a loopback port, as a context manager.

    `requests` keeps what it was asked, `disconnects` the times (`time.monotonic`) at which it
    noticed that a client had left before its answer was complete, `running` and `most_running` how
    many chats it was answering at once, `cache` what a prefix cache would have saved.
    `by_model` has scripts of single models, which go before `script`.
    `max_model_len` None leaves that out of /v1/models; without `tokenize` there is no /tokenize.
    `embed` makes the vectors of /v1/embeddings, whose texts' tokens `count` counts; None: there is
    no such path.

    >>> with StubServer(lambda messages: "Four [1].") as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        script: Script = quote_first_source,
        *,
        models: Sequence[str] = ("stub",),
        by_model: Mapping[str, Script] | None = None,
        api_key: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        max_model_len: int | None = 8192,
        tokenize: bool = True,
        embed: Embed | None = hash_terms,
        count: Callable[[str], int] = lambda text: len(pieces(text)),
    ) -> None:
        self.script = script
        self.models = tuple(models)
        self.by_model = dict(by_model or {})
        self.api_key = api_key
        self.max_model_len = max_model_len
        self.tokenize = tokenize
        self.embed = embed
        self.count = count
        self.requests: list[Request] = []
        self.disconnects: list[float] = []
        self.running = self.most_running = 0
        self.cache = PrefixCache()
        self.guard = threading.Lock()
        self.closing = threading.Event()
        self.url = ""  # the base URL for a client, ending in /v1; known once open
        self._address = (host, port)
        self._http: StubHTTPServer | None = None

    @property
    def chats(self) -> list[Request]:
        """The requests for chat completions among `requests`."""
        return [request for request in self.requests if request.path == "/v1/chat/completions"]

    def __enter__(self) -> "StubServer":
        self.closing.clear()
        self._http = StubHTTPServer(self._address, self)
        bound_host, bound_port = self._http.server_address[:2]
        self.url = f"http://{bound_host!s}:{bound_port}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._http is not None, "the server is not open"
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._http = None


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m ragkit.testing.stub_server", description=__doc__
    )
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--model", default="stub", help="the name it is served under")
    parser.add_argument("--api-key", default=None, help="the bearer token to insist on")
    options = parser.parse_args(arguments)
    try:
        with StubServer(
            models=(options.model,), api_key=options.api_key, port=options.port
        ) as stub:
            sys.stdout.write(f"serving model {options.model} at {stub.url} (Ctrl-C ends it)\n")
            sys.stdout.flush()
            stub.closing.wait()
    except KeyboardInterrupt:
        return
    except (OSError, OverflowError) as error:
        parser.error(f"port {options.port} cannot be used ({error}): choose another with --port")
