"""The environments of the peers: each list in benchmarks/peers/ makes one, kept between runs."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def peer_python(name: str) -> Path:
    """Return the interpreter of peers/NAME.txt's environment, made when missing or outdated."""
    requirements = HERE / "peers" / f"{name}.txt"
    folder = HERE / "out" / name
    python, made = folder / "bin" / "python", folder / ".made"
    if not made.exists() or made.stat().st_mtime < requirements.stat().st_mtime:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)]
        subprocess.run(command, check=True)
        made.touch()
    return python
