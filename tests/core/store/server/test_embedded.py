"""The embedded server in the hands of real processes that share it, crash and are killed."""

import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from ragkit import Settings
from ragkit.errors import DatabaseError
from ragkit.settings import home as ragkit_home
from ragkit.store.connection.connect import connect
from ragkit.store.open import open_database
from ragkit.store.server import embedded, postmaster, programs
from ragkit.store.server.embedded import EmbeddedServer
from ragkit.store.server.locks import FileLock
from ragkit.store.server.programs import Account
from ragkit.store.server.sockets import socket_dir
from ragkit.store.server.tuning import settings_for, this_machine
from tests.places import passable_folder

WAIT_S = 60
# Opens the server, says where it is, and leaves without closing it when its input ends.
CLIENT = """
import signal, sys
from pathlib import Path
from ragkit.store.server.embedded import EmbeddedServer
from ragkit.store.server.programs import Account
from ragkit.store.server.sockets import socket_dir
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
server = EmbeddedServer.open(Path(sys.argv[1]), durable=False)
print(server.url, flush=True)
sys.stdin.read()
"""
FORKING_CLIENT = CLIENT.replace("sys.stdin.read()", "import os\nif os.fork():\n    os.wait()") + (
    "    import psycopg\n    psycopg.connect(server.url).close()\n    print('still there')\n"
)


class Client:
    """A process that has the server open; as `terminal` it is a process group of its own."""

    def __init__(self, home: Path, *, code: str = CLIENT) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def url(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line, self.end(None)
        return line

    def end(self, sign: signal.Signals | None = None) -> str:
        """End the process, by a signal to its whole group or by the end of its input."""
        if sign is not None:
            os.killpg(self.process.pid, sign)
        return "".join(self.process.communicate(timeout=WAIT_S))


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def servers_of(home: Path) -> list[int]:
    """Find the living servers of a home by their command lines, which new children have too."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
            if arguments[1:3] == [b"-D", os.fsencode(home / "postgres")]:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parents[int(folder.name)] = int(fields[1])
    return [process for process, parent in parents.items() if parent not in parents]


def kill_server(home: Path) -> None:
    """Kill the server and wait for its children, which answer until they notice its death."""
    (pid,) = servers_of(home)
    os.kill(pid, signal.SIGKILL)
    with FileLock(home / "server.lock") as lock:
        assert lock.try_exclude(timeout_s=WAIT_S)


@pytest.fixture
def new_home() -> Iterator[Path]:
    folder = passable_folder()
    yield folder / "home"
    embedded.stop(folder / "home")
    assert servers_of(folder / "home") == []
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def made_home() -> Iterator[Path]:
    folder = passable_folder()
    with EmbeddedServer.open(folder / "home", durable=False) as server, connect(server.url) as conn:
        conn.execute("CREATE TABLE kept (value text)")
        conn.execute("INSERT INTO kept VALUES ('价值')")
    yield folder / "home"
    shutil.rmtree(folder)


@pytest.fixture
def home(made_home: Path) -> Iterator[Path]:
    """A home that has data; no server runs there before the test or may run after it."""
    assert servers_of(made_home) == []
    yield made_home
    left = servers_of(made_home)
    embedded.stop(made_home)
    assert left == []


def kept(url: str) -> list[tuple[str]]:
    with connect(url) as conn:
        return conn.execute("SELECT value FROM kept").fetchall()


def test_opening_starts_and_closing_stops(home: Path) -> None:
    before = embedded.status(home)
    assert (before.running, before.pid, before.url, before.version) == (False, None, None, "18")
    with EmbeddedServer.open(home, durable=False) as server:
        assert kept(server.url) == [("价值",)]
        now = embedded.status(home)
        assert now.running
        assert [now.pid] == servers_of(home)
        assert now.version is not None
        assert now.version.startswith("18.")
        assert (now.url, now.connections, now.keep_running) == (server.url, 0, False)
        assert now.size_bytes > 10_000_000
    assert not embedded.status(home).running
    server.close()


def test_settings_are_this_machines_and_nothing_listens_on_the_network(home: Path) -> None:
    wanted = settings_for(this_machine(), durable=False)
    with EmbeddedServer.open(home, durable=False) as server, connect(server.url) as conn:
        for name, value in wanted.items():
            row = conn.execute("SELECT pg_size_bytes(%s)", (value,)) if "MB" in value else None
            if row is not None:
                assert conn.execute(
                    "SELECT pg_size_bytes(current_setting(%s)) = pg_size_bytes(%s)", (name, value)
                ).fetchone() == (True,)
        shown = "SELECT current_setting('listen_addresses'), current_setting('jit'),"
        shown += " current_setting('server_encoding'), current_setting('wal_level')"
        assert conn.execute(shown).fetchone() == ("", "off", "UTF8", "minimal")
        assert (
            conn.execute(
                "SELECT name, error FROM pg_file_settings WHERE error IS NOT NULL"
            ).fetchall()
            == []
        )
    mode = (home / "postgres").stat().st_mode
    assert stat.S_IMODE(mode) == 0o700


def test_two_first_users_at_once_share_one_server(new_home: Path) -> None:
    one, two = Client(new_home), Client(new_home)
    assert one.url() == two.url()
    server = servers_of(new_home)
    assert len(server) == 1
    assert one.end() == ""
    assert servers_of(new_home) == server
    assert two.end() == ""
    assert servers_of(new_home) == []


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_termination_leave_it_stopped(home: Path, sign: signal.Signals) -> None:
    client = Client(home)
    client.url()
    client.end(sign)
    assert servers_of(home) == []


def test_ctrl_c_at_one_terminal_does_not_touch_the_other_user(home: Path) -> None:
    starter, other = Client(home), None
    starter.url()
    other = Client(home)
    url = other.url()
    starter.end(signal.SIGINT)
    assert kept(url) == [("价值",)]
    other.end()


def test_after_kill_9_of_a_client_the_next_one_stops_it(home: Path) -> None:
    killed = Client(home)
    killed.url()
    left = servers_of(home)
    killed.end(signal.SIGKILL)
    assert servers_of(home) == left
    with EmbeddedServer.open(home, durable=False) as server:
        assert servers_of(home) == left
        assert kept(server.url) == [("价值",)]
    assert servers_of(home) == []


def test_a_forked_child_does_not_give_its_parents_share_away(home: Path) -> None:
    client = Client(home, code=FORKING_CLIENT)
    client.url()
    assert client.end() == "still there\n"


def test_a_killed_server_is_started_again_with_all_that_was_committed(home: Path) -> None:
    with EmbeddedServer.open(home) as server:
        with connect(server.url) as conn:
            conn.execute("CREATE TABLE late AS SELECT 7 AS a")
        idle = psycopg.connect(server.url)
        (killed,) = servers_of(home)
        os.kill(killed, signal.SIGKILL)
        with EmbeddedServer.open(home) as again, connect(again.url) as conn:
            assert servers_of(home) not in ([killed], [])
            assert conn.execute("SELECT a FROM late").fetchone() == (7,)
            conn.execute("DROP TABLE late")
            assert kept(again.url) == [("价值",)]
        assert embedded.status(home).running
        idle.close()


def test_a_pool_starts_a_killed_server_again_and_not_a_stopped_one(home: Path) -> None:
    with open_database(Settings(home=home)) as database:
        query = "SELECT value FROM kept"
        kill_server(home)
        with database.pool.connection() as conn:
            assert conn.execute(query).fetchall() == [("价值",)]
        kill_server(home)
        with database.owner() as conn:
            assert conn.execute(query).fetchall() == [("价值",)]
        embedded.stop(home)
        with pytest.raises(PoolTimeout), database.pool.connection(timeout=1.0):
            pass
        assert servers_of(home) == []


def test_a_recycled_pid_is_neither_taken_for_the_server_nor_killed(home: Path) -> None:
    with EmbeddedServer.open(home, durable=False):
        note = (home / "postgres" / "postmaster.pid").read_text()
        kill_server(home)
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        lines = [str(stranger.pid), *note.splitlines()[1:]]
        (home / "postgres" / "postmaster.pid").write_text("\n".join(lines))
        assert not embedded.stop(home).running
        with EmbeddedServer.open(home, durable=False) as server:
            assert kept(server.url) == [("价值",)]
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_run_killed_in_the_first_start_leaves_a_clean_beginning(new_home: Path) -> None:
    client = Client(new_home)
    until((new_home / "postgres.new" / "PG_VERSION").exists)
    client.end(signal.SIGKILL)
    with EmbeddedServer.open(new_home, durable=False) as server:
        assert embedded.status(new_home).url == server.url
    assert not (new_home / "postgres.new").exists()


def test_kept_running_until_it_is_stopped(home: Path) -> None:
    started = embedded.start(home)
    assert started.running
    assert started.keep_running
    client = Client(home)
    client.url()
    client.end()
    assert servers_of(home) == [started.pid]
    with EmbeddedServer.open(home) as server, psycopg.connect(server.url):
        before = embedded.stop(home)
        assert (before.running, before.connections, before.keep_running) == (True, 1, True)
        assert servers_of(home) == []
    after = embedded.stop(home)
    assert (after.running, after.connections, after.keep_running) == (False, None, False)


@pytest.mark.parametrize("name", ["深" * 30 + "/" + "d" * 90, "a, $HOME 'b' \"c\" `d`"])
def test_any_folder_can_be_home(new_home: Path, name: str) -> None:
    folder = new_home / name
    with EmbeddedServer.open(folder, durable=False) as server, connect(server.url) as conn:
        sockets = Path(conn.info.host)
        assert sockets != folder / "postgres"
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        assert servers_of(folder) == [embedded.status(folder).pid]
    assert servers_of(folder) == []
    sockets.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_socket_folder_that_another_user_made_is_refused(tmp_path: Path) -> None:
    account = Account(os.geteuid(), os.getegid())
    folder = socket_dir(tmp_path / ("d" * 100), account)
    os.chown(folder, 12345, 12345)
    with pytest.raises(DatabaseError, match="not a private folder of ours: remove it"):
        socket_dir(tmp_path / ("d" * 100), account)
    folder.rmdir()


def test_a_home_that_cannot_be_used_is_one_line(new_home: Path) -> None:
    new_home.write_text("a file")
    for act in (EmbeddedServer.open, embedded.start):
        with pytest.raises(DatabaseError, match=r"home cannot be used: .*set RAGKIT_HOME") as error:
            act(new_home)
        assert "\n" not in str(error.value)
    new_home.unlink()


def test_data_of_another_version_are_left_alone(new_home: Path) -> None:
    (new_home / "postgres").mkdir(parents=True)
    (new_home / "postgres" / "PG_VERSION").write_text("13\n")
    with pytest.raises(DatabaseError, match="written by PostgreSQL 13, and this installation"):
        EmbeddedServer.open(new_home)
    assert embedded.status(new_home).version == "13"


def test_what_lies_in_the_datas_place_is_left_alone(new_home: Path) -> None:
    (new_home / "postgres").mkdir(parents=True)
    (new_home / "postgres" / "thesis.txt").write_text("mine")
    with pytest.raises(DatabaseError, match="set RAGKIT_HOME to another folder"):
        EmbeddedServer.open(new_home)
    assert (new_home / "postgres" / "thesis.txt").read_text() == "mine"


def test_a_full_disk_is_one_line(new_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = shutil._ntuple_diskusage(10**9, 10**9 - 2**20, 2**20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with pytest.raises(DatabaseError, match=r"disk of .*home is full \(1 MB free.*free some space"):
        EmbeddedServer.open(new_home)


def test_a_platform_without_the_programs_is_one_line(
    new_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "find_spec", lambda _: None)
    with pytest.raises(DatabaseError, match="no embedded PostgreSQL for this platform"):
        EmbeddedServer.open(new_home)


def test_a_failing_program_is_one_line_with_its_own_reason() -> None:
    # What `initdb -D` printed on a file system of 20 MB.
    output = (
        "running bootstrap script ... 2026-11-01 10:00:00.000 UTC [5] FATAL:  could not write to"
        ' file "pg_wal/xlogtemp.5": No space left on device\n'
        "child process exited with exit code 1\n"
        'initdb: removing contents of data directory "/x/postgres.new"\n'
    )
    assert str(programs.failure("No database", output, "see the log")) == (
        'No database: could not write to file "pg_wal/xlogtemp.5": No space left on device:'
        " free some space, or set RAGKIT_HOME to another disk."
    )
    assert str(programs.failure("No start", "", "see the log")) == (
        "No start: it gave no reason: see the log."
    )


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """A folder that only its owner may enter, below one that others may pass."""
    above = passable_folder()
    folder = above / "it's mine"
    folder.mkdir(mode=0o700)
    yield folder
    embedded.stop(folder / "home")
    shutil.rmtree(above)


@AS_ROOT
@pytest.mark.parametrize("home", [".", "home", "a/b/home"])
def test_no_folder_is_opened_up_for_the_servers_account(closed_folder: Path, home: str) -> None:
    with pytest.raises(DatabaseError) as refused:
        EmbeddedServer.open(closed_folder / home, durable=False)
    assert "set RAGKIT_HOME to /var/lib/ragkit, or run `chmod o+x" in str(refused.value)
    assert shlex.quote(str(closed_folder)) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert stat.S_IMODE(closed_folder.stat().st_mode) == 0o700
    closed_folder.chmod(0o701)  # the remedy
    with EmbeddedServer.open(closed_folder / home, durable=False):
        assert stat.S_IMODE(closed_folder.stat().st_mode) == 0o701


@AS_ROOT
def test_programs_that_the_servers_account_cannot_reach(
    closed_folder: Path, new_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an environment below root's home: they are copied, once."""
    installed = programs.find_programs()
    package = installed.folder.parents[1]
    for folder in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(folder, closed_folder / folder.name, symlinks=True)
    moved = closed_folder / installed.folder.relative_to(package.parent)
    monkeypatch.setattr(
        postmaster, "find_programs", lambda: programs.Programs(moved, installed.major)
    )
    made = []
    for _ in range(2):
        with EmbeddedServer.open(new_home, durable=False) as server, connect(server.url) as conn:
            assert conn.execute("SELECT 1").fetchone() == (1,)
            conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
        made.append([path.stat().st_ino for path in new_home.glob("postgresql-*")])
    assert len(made[0]) == 1
    assert made[0] == made[1]
    assert stat.S_IMODE(closed_folder.stat().st_mode) == 0o700


@AS_ROOT
def test_root_has_a_home_that_the_server_can_reach(
    closed_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container, where the home of root is root's alone."""
    elsewhere = closed_folder.parent / "lib" / "ragkit"
    monkeypatch.setattr(ragkit_home, "ROOTS_HOME", elsewhere)
    monkeypatch.setenv("HOME", str(closed_folder))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    home = Settings().home
    assert home == elsewhere
    with EmbeddedServer.open(home, durable=False) as server, connect(server.url) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
    assert stat.S_IMODE(closed_folder.stat().st_mode) == 0o700
    closed_folder.chmod(0o711)
    usual = closed_folder / ".local" / "share" / "ragkit"
    assert Settings().home == usual
    (usual / "postgres").mkdir(parents=True)
    closed_folder.chmod(0o700)
    assert Settings().home == usual, "a database that is there already is never lost sight of"
