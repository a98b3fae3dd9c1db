"""A program that stands in for vLLM: it answers /health, and misbehaves as FAKE says.

FAKE holds words: slow (ready after 0.6 s), never (ready), fail, fail-second (the second start),
stubborn (SIGTERM is ignored), child (starts one that ignores SIGTERM as well), drain (takes 0.5 s
to end), talk (prints secrets and control characters).
RUNS names a file in which each start leaves a line with its process ids.
"""

import argparse
import os
import signal
import socketserver
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

words = os.environ.get("FAKE", "").split()
runs = Path(os.environ.get("RUNS", ""))
started = time.monotonic()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.headers["Authorization"] != f"Bearer {os.environ['VLLM_API_KEY']}":
            self._answer(401)
        elif self.path == "/crash":
            os._exit(3)
        else:
            ready = "slow" not in words or time.monotonic() - started > 0.6
            ready = ready and "never" not in words
            self._answer(200 if self.path == "/health" and ready else 503)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def address_string(self) -> str:
        return "somebody"

    def log_message(self, *_: object) -> None:
        pass


class Http(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class Unix(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


def drain(*_: object) -> None:
    time.sleep(0.5)
    print("drained", flush=True)
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-m")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--uds")
    options, _ = parser.parse_known_args()
    pids = [os.getpid()]
    if "child" in words:
        code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
        pids.append(subprocess.Popen([sys.executable, "-c", code]).pid)
    with runs.open("a") as file:
        file.write(" ".join(map(str, pids)) + "\n")
    if "talk" in words:
        print(f"args: {os.environ['VLLM_API_KEY']} {os.environ.get('HF_TOKEN')}", flush=True)
        print("\x1b[31mred\x1b[0m \x07bell  10%\r 100%", flush=True)
        print("Loading safetensors checkpoint shards", flush=True)
    again = len(runs.read_text().splitlines())
    if "fail" in words or ("fail-second" in words and again == 2):
        print("non-default args: {'trust_remote_code': False}")
        print("(Worker pid=1) ERROR 11-21 06:14:45 [x.py:1] torch.OutOfMemoryError: out of memory")
        sys.exit(1)
    if "stubborn" in words:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "drain" in words:
        signal.signal(signal.SIGTERM, drain)
    server = (
        Unix(options.uds, Handler) if options.uds else Http((options.host, options.port), Handler)
    )
    server.serve_forever()


if __name__ == "__main__":
    main()
