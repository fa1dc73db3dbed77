"""The version, and the commit that the program was built from."""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any, Final, NoReturn

import entresol

PACKAGE: Final = Path(entresol.__file__).parent
COMMIT_FILE: Final = "commit.txt"
"""What `make wheel` writes into the package."""
DIGITS: Final = 12


class PrintVersion(argparse.Action):
    """Print the version and exit; the commit is looked up only then."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print one line."""
        print(version_line())
        parser.exit()


def version_line() -> str:
    """Return the version, with the commit if it is known: `entresol 0.1.0 (0123456789ab)`."""
    from importlib import metadata  # noqa: PLC0415 - it takes 20 ms of every start

    installed = metadata.distribution("entresol")
    commit = commit_of(PACKAGE, installed.read_text("direct_url.json"))
    return f"entresol {installed.version}" + (f" ({commit})" if commit else "")


def commit_of(package: Path, direct_url: str | None = None) -> str | None:
    """Return the commit that `package` was built from; `-dirty` marks a checkout that differs from it.

    In a checkout git knows it, a wheel has a file, and pip records the commit of a URL that leads to a repository in
    `direct_url`.
    """
    root = package.parent.parent
    if (root / ".git").exists():
        return _describe(root)
    if (package / COMMIT_FILE).exists():
        return (package / COMMIT_FILE).read_text(encoding="ascii").strip()
    commit = json.loads(direct_url or "{}").get("vcs_info", {}).get("commit_id")
    return commit and str(commit)[:DIGITS]


def _describe(root: Path) -> str | None:
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", f"--abbrev={DIGITS}"]
    try:
        # git is wherever the user has it. No tag is described, only the commit.
        ran = subprocess.run([*command, "--exclude=*"], capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return None
    return ran.stdout.strip()
