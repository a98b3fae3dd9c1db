"""deploy/make-secrets.sh, and the script that makes ragkit's role, in a real PostgreSQL."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import uuid
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from psycopg import sql

from ragkit.store.server.programs import find_programs
from tests.places import ROOT

NAMES = {
    *("postgres_password.txt", "database_password.txt", "database_url.txt", "llm_api_key.txt"),
    *("grafana_password.txt", "tls_certificate.pem", "tls_key.pem"),
}
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing")


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = shutil.copy(ROOT / "deploy/make-secrets.sh", folder / "make-secrets.sh")
    return subprocess.run([script, *arguments], capture_output=True, text=True, timeout=60)


@needs_openssl
def test_secrets_are_made_once(tmp_path: Path) -> None:
    done = make(tmp_path, "rag.example.org")
    assert (done.returncode, done.stdout) == (0, "")
    folder = tmp_path / "secrets"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    made = {path.name: path.read_text() for path in folder.iterdir()}
    assert set(made) == NAMES
    # Containers' users must be able to read what is mounted; here the folder keeps others out.
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o444}
    random = [made[name] for name in made if name.endswith(("password.txt", "key.txt"))]
    assert len(set(random)) == 4
    assert {len(text) for text in random} == {64}
    url = f"postgresql://ragkit:{made['database_password.txt']}@postgres:5432/ragkit"
    assert made["database_url.txt"] == url
    for text in random:
        assert text not in done.stderr
    again = make(tmp_path, "rag.example.org")
    assert again.returncode == 0
    assert {path.name: path.read_text() for path in folder.iterdir()} == made
    assert again.stderr.count("kept") == 6
    assert "made    " not in again.stderr


@needs_openssl
def test_one_that_is_missing_is_made_and_the_rest_kept(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "secrets/llm_api_key.txt").unlink()
    before = (tmp_path / "secrets/database_password.txt").read_text()
    assert "made    " in make(tmp_path).stderr
    assert (tmp_path / "secrets/database_password.txt").read_text() == before
    assert len((tmp_path / "secrets/llm_api_key.txt").read_text()) == 64


@needs_openssl
def test_half_a_certificate_is_an_error(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "secrets/tls_key.pem").unlink()
    done = make(tmp_path)
    assert done.returncode == 1
    assert "one of" in done.stderr.splitlines()[-1]


@needs_openssl
def test_name_that_no_certificate_can_have_leaves_nothing_behind(tmp_path: Path) -> None:
    assert make(tmp_path, "bad/CN=\n,x:y=").returncode == 1
    assert not list((tmp_path / "secrets").glob("*.pem"))
    assert not list((tmp_path / "secrets").glob("*.part"))


def test_role_owns_its_database_and_is_no_superuser(tmp_path: Path, database_url: str) -> None:
    tmp_path.chmod(0o755)
    password = f"p'{uuid.uuid4().hex}"
    (tmp_path / "password").write_text(password)
    socket_folder = parse_qs(urlsplit(database_url).query)["host"][0]
    environment = {
        "PATH": f"{find_programs().folder}:{os.environ['PATH']}",
        "PGHOST": socket_folder,
        "DATABASE_PASSWORD_FILE": str(tmp_path / "password"),
    }
    script = [str(ROOT / "deploy/postgres/10-ragkit.sh")]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=60)
    with psycopg.connect(database_url, autocommit=True) as admin:
        try:
            assert done.returncode == 0, done.stderr
            assert password not in done.stdout + done.stderr
            role = admin.execute(
                "SELECT rolsuper, rolcreatedb, rolcreaterole, rolcanlogin FROM pg_roles"
                " WHERE rolname = 'ragkit'"
            ).fetchone()
            assert role == (False, False, False, True)
            url = database_url.replace("/postgres?", "/ragkit?")
            with psycopg.connect(url, autocommit=True) as conn:
                from ragkit.store.connection.migrate import migrate

                conn.execute("SET ROLE ragkit")
                assert migrate(conn)  # all of ragkit's tables, without a superuser
                row = conn.execute("SELECT current_user, count(*) FROM document").fetchone()
                assert row == ("ragkit", 0)
        finally:
            admin.execute("DROP DATABASE IF EXISTS ragkit WITH (FORCE)")
            admin.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier("ragkit")))


def test_role_without_a_password_is_not_made(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "DATABASE_PASSWORD_FILE": str(tmp_path / "none")}
    done = subprocess.run(
        [str(ROOT / "deploy/postgres/10-ragkit.sh")],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "is missing or empty" in done.stderr
