"""The home of other people's tools: one of the run, so that they neither find nor leave anything in the user's."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile


def tool_environment(**more: str) -> dict[str, str]:
    """Return the environment of a tool, with `more` variables.

    Foundry keeps what it has read of a chain by its id and block, and Hardhat its compilers.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return own | {"HOME": _home()} | more


@functools.cache
def _home() -> str:
    path = tempfile.mkdtemp(prefix="home-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
