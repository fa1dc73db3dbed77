"""A data directory that an earlier version made is opened, served as then, and goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.node_process import run_entresol, running_node
from tests.support.rollup.pair import Pair, running_pair
from tests.support.upgrade.recorded import digests, unpack

VERSIONS = ["2026-11-16"]


@pytest.fixture(params=VERSIONS)
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    return unpack(request.param, tmp_path)


@contextlib.contextmanager
def opened(data: Path, *flags: str) -> Iterator[Pair]:
    info = data.with_name("info.json")
    given = ("--data-dir", str(data), "--config-out", str(info), *flags)
    with running_node(*given, info=info) as node:
        pair = Pair.connect(info)
        yield pair
        pair.close()
        assert node.stop() == 0


def test_it_serves_what_the_earlier_version_served(recorded: tuple[Path, dict[str, Any]]) -> None:
    data, known = recorded
    with opened(data, "--no-settle") as pair:
        assert digests(pair) == known["digests"]


def test_withdrawals_that_were_begun_are_settled_and_paid(
    recorded: tuple[Path, dict[str, Any]],
) -> None:
    data, known = recorded
    with opened(data) as pair:
        assert pair.is_claimed(known["claimed"])
        for withdrawn in (known["claimable"], known["unsettled"]):
            assert pair.l1.receipt(pair.claim(withdrawn))["status"] == "0x1"
        assert pair.arrived(pair.deposit(1))["status"] == "0x1"
    verified = run_entresol("verify", "--data-dir", str(data))
    assert verified.returncode == 0, verified.stderr


def test_its_indexes_are_rebuilt(recorded: tuple[Path, dict[str, Any]]) -> None:
    data, known = recorded
    rebuilt = run_entresol("rebuild", "--data-dir", str(data))
    assert rebuilt.returncode == 0, rebuilt.stderr
    with opened(data, "--no-settle") as pair:
        assert digests(pair) == known["digests"]


def test_a_dump_of_it_is_loaded_over_the_contracts_of_today(
    recorded: tuple[Path, dict[str, Any]],
) -> None:
    data, known = recorded
    with opened(data, "--no-settle") as pair:
        dump = pair.l1("anvil_dumpState")
    with running_pair() as pair:
        assert len(pair.call_l1(pair.chain, "facetAddresses")) == 3
        assert pair.l2("anvil_loadState", dump) is True
        assert pair.call_l1(pair.chain, "facetAddresses") == (str(pair.chain.address),)
        assert pair.l1.receipt(pair.claim(known["claimable"]))["status"] == "0x1"
        assert pair.arrived(pair.deposit(1))["status"] == "0x1"
        pair.settled()
