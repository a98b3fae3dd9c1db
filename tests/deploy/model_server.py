"""A model server in a process of its own that can be killed: long answers, a piece every 20 ms."""

import sys
import threading

from ragkit.testing.stub_server.server import Reply, StubServer

if __name__ == "__main__":
    with StubServer(
        lambda messages: Reply("word " * 60, delay_s=0.02), port=int(sys.argv[1])
    ) as stub:
        print(stub.url, flush=True)
        threading.Event().wait()
