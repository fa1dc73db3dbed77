"""The devnets of a test session: one for each set of settings that tests ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from entresol.inprocess.devnet import Devnet
from entresol.inprocess.devnet import devnet as new_devnet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from entresol.inprocess.devnet_settings import SettingValue
    from entresol.testing.profiling import Profiled

MAX_DEVNETS: Final = 4
"""How many with settings of a marker run at once; the one that was used least recently is stopped for another."""
FORKS: Final = ("fork_url", "l1_fork_url", "fork_cache", "l1_fork_cache")
"""The settings that say that a layer is a fork."""


class DevnetPool:
    """Starts devnets as tests need them.

    Remembers: those of markers, by their settings.
    """

    def __init__(self, *, is_offline: bool = False, profiled: Profiled | None = None) -> None:
        self._is_offline = is_offline
        self._profiled = profiled
        self._running: dict[str, Devnet] = {}

    def started(self, settings: Mapping[str, SettingValue]) -> Devnet:
        """Return a devnet with these settings, for a `with` that starts and stops it."""
        given: dict[str, Any] = {"settle": False, **settings}
        if self._is_offline and any(given.get(name) for name in FORKS):
            given["offline"] = True
        devnet = new_devnet(**given)
        if self._profiled is not None:
            self._profiled.follow(devnet)
        return devnet

    def get(self, settings: Mapping[str, SettingValue]) -> Devnet:
        """Return a running devnet with these settings; tests isolate themselves on it."""
        key = repr(sorted(settings.items()))
        found = self._running.pop(key, None) or self.started(settings).start()
        self._running[key] = found
        if len(self._running) > MAX_DEVNETS:
            self._running.pop(next(iter(self._running))).stop()
        return found

    def close(self) -> None:
        """Stop all of them."""
        while self._running:
            self._running.popitem()[1].stop()
