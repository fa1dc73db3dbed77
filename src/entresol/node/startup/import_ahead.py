"""Import what a remote chain is asked by, while the rest of the node is imported."""

from __future__ import annotations

import asyncio  # noqa: F401 - both threads need it, so it is there before the second one begins
import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Final

CLIENT: Final = "aiohttp"
"""It takes as long to import as a third of the node, and has to be there before the first request to the remote."""
FLAGS: Final = frozenset({"--fork-url", "--rpc-url", "-f", "--l1-fork-url", "--l1-url"})
VARIABLES: Final = frozenset({"ENTRESOL_FORK_URL", "ENTRESOL_L1_FORK_URL", "ENTRESOL_L1_URL"})


def import_ahead() -> None:
    """Begin to import the client of remotes on a thread, if the command probably asks one.

    A wrong guess costs time only: who needs the client imports it, too.
    """
    if names_remote(sys.argv, os.environ):
        threading.Thread(target=_import, name="import", daemon=True).start()


def names_remote(words: Iterable[str], environment: Mapping[str, str]) -> bool:
    """Say whether a command line or a variable has the URL of a remote."""
    return any(word.partition("=")[0] in FLAGS for word in words) or bool(
        VARIABLES & environment.keys()
    )


def _import() -> None:
    # Much of it is reading the certificates of the system, without the GIL.
    with contextlib.suppress(ImportError):
        importlib.import_module(CLIENT)
