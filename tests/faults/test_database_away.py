"""A database that stops for a while, and one whose disk is full."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragkit.store.connection.connect import connect
from ragkit.store.server.embedded import EmbeddedServer
from ragkit.store.server.postmaster import Postmaster
from tests.core.embed.tiny_model import write_model
from tests.faults.commands import contents, finish, start, until, write_file
from tests.places import passable_folder

pytestmark = pytest.mark.faults

FILES = 60
AWAY_S = 5.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    for number in range(FILES):
        write_file(made / f"{number:02}.md", 1)
    return made


def test_a_database_that_stops_for_five_seconds(folder: Path) -> None:
    home = passable_folder()  # as root the server is another user
    try:
        with EmbeddedServer.open(home, durable=False) as server:

            def has_some() -> bool:
                with connect(server.url) as conn:
                    table = conn.execute("SELECT to_regclass('document')").fetchone()
                    count = "SELECT count(*) FROM document"
                    return table != (None,) and conn.execute(count).fetchone() != (0,)

            run = start(server.url, "ingest", str(folder), "--json")
            until(has_some, run, "something was stored")
            Postmaster(home).stop()
            stopped = time.monotonic()
            assert run.is_running(wait_s=AWAY_S)
            Postmaster(home).start(durable=False)
            print(f"away for {time.monotonic() - stopped:.1f} s")
            report = finish(run)
            assert report["documents"]["failed"] == 0
            again = finish(start(server.url, "ingest", str(folder), "--json"))
            assert again["documents"]["unchanged"] == FILES
            assert len({row[0] for row in contents(server.url)}) == FILES
    finally:
        shutil.rmtree(home)


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of its own, which is soon full."""
    place = passable_folder()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200m,mode=755", "tmpfs", str(place)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        place.rmdir()
        pytest.skip(f"a small file system cannot be mounted: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)
    place.rmdir()


def test_a_full_disk_is_said_and_nothing_is_lost(
    small_disk: Path, folder: Path, tmp_path: Path
) -> None:
    home = small_disk / "home"
    model = write_model(tmp_path / "model", seed=1)  # what matters here is what is written
    code, _, err = ingest(home, model, folder)
    assert code == 0, err
    with (small_disk / "ballast").open("wb") as ballast:
        fill(ballast.fileno())
    for number in range(FILES):
        write_file(folder / f"{number:02}.md", 2, paragraphs=60)
    code, out, err = ingest(home, model, folder)
    assert code == 1, out + err
    assert "Traceback" not in err
    message = err.strip().splitlines()[-1]
    print(message)
    assert message.startswith("ragkit: ")
    assert "No space left on device" in message
    (small_disk / "ballast").unlink()
    subprocess.run(["mount", "-o", "remount,size=600m", str(small_disk)], check=True)
    code, _, err = ingest(home, model, folder)
    assert code == 0, err
    with EmbeddedServer.open(home) as server:
        stored = contents(server.url)
        assert len({row[0] for row in stored}) == FILES
        assert all("version2" in row[3] for row in stored)


def ingest(home: Path, model: Path, folder: Path) -> tuple[int | None, str, str]:
    """Take a folder into the embedded database; return the exit code and both outputs."""
    return start(None, "ingest", str(folder), home=str(home), embed_model=str(model)).end()


def fill(descriptor: int) -> None:
    """Write until there is room for a little only."""
    piece = b"\0" * (1 << 20)
    left_mb = 6  # arbitrary: some documents more fit
    found = os.fstatvfs(descriptor)
    for _ in range(found.f_bavail * found.f_frsize // (1 << 20) - left_mb):
        os.write(descriptor, piece)
