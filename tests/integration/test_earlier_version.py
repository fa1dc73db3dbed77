"""A data directory that an earlier version made is opened, served as then, and goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from entresol.primitives.interop.roots import ROOT_STORAGE
from tests.support.node_process import run_entresol, running_node
from tests.support.rollup.pair import Pair, running_pair
from tests.support.rpc_client import HttpRpcClient, RpcError, health_of
from tests.support.upgrade.recorded import digests, unpack

WITHOUT_FACETS = ["2026-11-16"]
"""Their chains have no facets, and no messages to other chains."""
VERSIONS = [*WITHOUT_FACETS, "2026-11-18"]
"""Of the last one the executor publishes nothing."""


@pytest.fixture(params=VERSIONS)
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    return unpack(request.param, tmp_path)


@pytest.fixture(params=WITHOUT_FACETS)
def without_facets(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
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


def test_it_has_no_messages_to_other_chains_and_says_so(
    without_facets: tuple[Path, dict[str, Any]],
) -> None:
    data, known = without_facets
    several = run_entresol("--chains", "2", "--data-dir", str(data))
    assert several.returncode == 2
    assert "has one chain, and its L1 knows no other; give a new directory" in several.stderr
    with opened(data, "--no-settle", "--workers", "2") as pair:
        check_without_interop(pair, known["claimable"])
        assert pair.l2("zks_getProtocolVersion")["version_id"] == 30
        assert pair.l2("zks_getProtocolVersion", 31) is None
        assert pair.l2("eth_protocolVersion") == "zks/0.30.2"
        assert {"interop", "books"}.isdisjoint(health_of(pair.l2.url)[1])


def check_without_interop(pair: Pair, sent: str) -> None:
    assert pair.l2("eth_getCode", str(ROOT_STORAGE), "latest") == "0x"
    for _ in range(4):
        # Any process may respond.
        with (
            contextlib.closing(HttpRpcClient(pair.l2.url)) as client,
            pytest.raises(RpcError, match=r"no messages to other chains.*start a new directory"),
        ):
            client("zks_getL2ToL1LogProof", sent, 0, "messageRoot")


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
    without_facets: tuple[Path, dict[str, Any]],
) -> None:
    data, known = without_facets
    with opened(data, "--no-settle") as pair:
        dump = pair.l1("anvil_dumpState")
    with running_pair() as pair:
        assert len(pair.call_l1(pair.chain, "facetAddresses")) == 3
        assert pair.l2("anvil_loadState", dump) is True
        assert pair.call_l1(pair.chain, "facetAddresses") == (str(pair.chain.address),)
        assert pair.l1.receipt(pair.claim(known["claimable"]))["status"] == "0x1"
        assert pair.arrived(pair.deposit(1))["status"] == "0x1"
        pair.settled()
        check_without_interop(pair, known["claimable"])
        assert health_of(pair.l2.url)[1]["status"] == "ready"
