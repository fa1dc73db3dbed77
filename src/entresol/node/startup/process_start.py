"""Make a process start sooner: fewer collections, and the client of remotes imported beside the rest."""

from __future__ import annotations

import asyncio  # noqa: F401 - both threads need it, so it is there before the second one begins
import contextlib
import gc
import importlib
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Final

THRESHOLDS: Final = (10_000, 5, 80)
"""Objects between two collections, and collections between those of older objects.

With the defaults a flood of transactions spends a tenth of its time on objects that are all in use. A collection holds
all threads, so one of the middle generation visits at most 50,000 objects, of which a long request makes several times
as many.
"""

START_THRESHOLDS: Final = (100_000, 5, 80)
"""More objects than a start makes: nearly all of them stay, so that collections took a sixth of it and found nothing."""


def collect_rarely() -> None:
    """Let a process start without a collection; call this before what takes long is imported."""
    gc.set_threshold(*START_THRESHOLDS)


def collect_less() -> None:
    """Exempt what exists now from collections, and let them be rarer.

    What is garbage by now, a few dozen objects of 60,000, stays for ever: finding it takes longer than all that was saved.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


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
