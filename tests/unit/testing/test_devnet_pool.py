"""Devnets by their settings: shared, bounded, and offline if the run is."""

from __future__ import annotations

from typing import Any

import pytest

from entresol.testing import devnet_pool
from entresol.testing.devnet_pool import MAX_DEVNETS, DevnetPool


class FakeDevnet:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.is_running = False

    def start(self) -> FakeDevnet:
        self.is_running = True
        return self

    def stop(self) -> None:
        self.is_running = False


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[FakeDevnet]:
    found: list[FakeDevnet] = []

    def new(**settings: Any) -> FakeDevnet:
        found.append(FakeDevnet(settings))
        return found[-1]

    monkeypatch.setattr(devnet_pool, "new_devnet", new)
    return found


def test_tests_with_the_same_settings_share_a_devnet(made: list[FakeDevnet]) -> None:
    pool = DevnetPool()
    assert pool.get({"fork_url": "http://a"}) is pool.get({"fork_url": "http://a"})
    assert len(made) == 1
    assert made[0].settings == {"settle": False, "fork_url": "http://a"}


def test_the_least_recently_used_is_stopped_for_another(made: list[FakeDevnet]) -> None:
    pool = DevnetPool()
    for port in range(MAX_DEVNETS + 1):
        pool.get({"port": port})
        pool.get({"port": 0})
    assert [it.is_running for it in made] == [True, False, *[True] * (MAX_DEVNETS - 1)]
    pool.close()
    assert not any(it.is_running for it in made)


def test_offline_is_for_forks_alone(made: list[FakeDevnet]) -> None:
    pool = DevnetPool(is_offline=True)
    pool.get({"port": 0})
    pool.get({"fork_cache": "fork.sqlite"})
    assert [it.settings.get("offline") for it in made] == [None, True]
