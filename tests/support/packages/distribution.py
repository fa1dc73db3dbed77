"""What `make wheel` has built, and the environments that it is installed into."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support.docs.pages import ROOT

DIST: Final = ROOT / "dist"
SYSTEM_PATH: Final = ("/usr/bin", "/bin")
INSTALL_SECONDS: Final = 900.0


def built(pattern: str) -> Path:
    """Return a file of `dist`; without one the test is skipped, but not in CI."""
    found = sorted(DIST.glob(pattern))
    if not found and os.environ.get("CI") != "true":
        pytest.skip("make wheel builds it")
    assert len(found) == 1, f"{DIST} has {len(found)} files {pattern}: run `make wheel`"
    return found[0]


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
    """Run commands in a folder, and return what they print."""
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
