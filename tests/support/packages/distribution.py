"""The wheel that `make wheel` has built, and the environments that it is installed into."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pytest

from entresol.cli.parsers import COMMIT_FILE
from tests.support.docs.pages import ROOT

SOURCES: Final = ROOT / "src"
DIST: Final = ROOT / "dist"
SYSTEM_PATH: Final = ("/usr/bin", "/bin")
INSTALL_SECONDS: Final = 900.0


def built(pattern: str) -> Path:
    """Return a file of `dist`; if it is missing or older than the package the test is skipped, but not in CI."""
    found = sorted(DIST.glob(pattern))
    newest = max(path.stat().st_mtime for path in package_files().values())
    is_fresh = len(found) == 1 and found[0].stat().st_mtime >= newest
    if not is_fresh and os.environ.get("CI") != "true":
        pytest.skip("`make wheel` builds it")
    assert is_fresh, f"{DIST} has {found}: run `make wheel`"
    return found[0]


def package_files() -> dict[str, Path]:
    """Return the files of the package by their path below `src`, without what is built."""
    return {
        str(path.relative_to(SOURCES)): path
        for path in (SOURCES / "entresol").rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix != ".so"
        and path.name != COMMIT_FILE
    }


def commit_in(wheel: Path) -> str:
    """Return the commit that a wheel names; empty if it was built without git."""
    with ZipFile(wheel) as archive:
        name = f"entresol/{COMMIT_FILE}"
        return archive.read(name).decode().strip() if name in archive.namelist() else ""


def newcomer_environment(folder: Path, wheel: Path) -> dict[str, str]:
    """Return the variables of a user with Python and without Rust, who is not in the source tree.

    pip finds the wheel beside what the index has, and takes the versions that were tested.
    """
    programs = folder / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    links = f"{wheel.parent.as_uri()} {os.environ.get('PIP_FIND_LINKS', '')}".strip()
    own = {
        "PATH": os.pathsep.join((str(programs), *SYSTEM_PATH)),
        "HOME": str(folder),
        "PIP_FIND_LINKS": links,
        "PIP_CONSTRAINT": str(ROOT / "requirements.txt"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    assert shutil.which("cargo", path=own["PATH"]) is None
    kept = ("PIP_", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy", "LANG", "TMPDIR")
    return {name: value for name, value in os.environ.items() if name.startswith(kept)} | own


def run_shell(commands: str, folder: Path, environment: Mapping[str, str]) -> str:
    ran = subprocess.run(
        ["/bin/sh", "-euc", commands],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
