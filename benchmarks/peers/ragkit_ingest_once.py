"""ragkit's side of the ingestion benchmark, in a process of its own like the peer's.

python ragkit_ingest_once.py DATABASE_URL FOLDER. Prints JSON.
"""

import json
import sys
import tempfile
import uuid
from pathlib import Path

from pydantic import SecretStr

from ragkit import Settings
from ragkit_ingest import ingest


def main(url: str, folder: str) -> None:
    settings = Settings(database_url=SecretStr(url), collection=uuid.uuid4().hex)
    with tempfile.TemporaryDirectory() as small:
        Path(small, "warm.txt").write_text("Warm up.")
        ingest([small], settings=settings, collection="warm-up")
    report = ingest([folder], settings=settings)
    assert not report.failures
    again = ingest([folder], settings=settings)
    assert again.embedded == 0
    print(json.dumps({"chunks": report.chunks, "seconds": report.seconds, "again": again.seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
