"""One of three chains is full, stopped, cannot settle or has a broken disk: the others go on, and it is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from entresol.errors import StoreFull
from entresol.node.opening.development_keys import operator_of
from entresol.storage.database.key_value import KeyValueStore
from tests.support.ecosystem.several_chains import (
    SeveralChains,
    several_chains,
    several_config,
)
from tests.support.polling import eventually
from tests.support.rpc_client import RpcError, get

BAD = 1
GOOD = (0, 2)
POOL_BYTES = 8_000
L1 = "31337"
NAMES = ("270", "271", "272", L1)


@pytest.fixture
def chains() -> Iterator[SeveralChains]:
    with several_chains(several_config(3, pool_limit_bytes=POOL_BYTES)) as chains:
        yield chains


def pages(chains: SeveralChains, path: str) -> dict[str, str]:
    """Return a page of each chain, L1 last."""
    services = chains.node.services
    return {
        name: get(f"http://{it.address}{path}").decode()
        for name, it in zip(NAMES, services, strict=True)
    }


def health(chains: SeveralChains) -> dict[str, dict[str, Any]]:
    return {name: json.loads(page) for name, page in pages(chains, "/health").items()}


def others_go_on(chains: SeveralChains) -> None:
    for index in GOOD:
        chains.goes_on(index)


def reported_by_all(chains: SeveralChains, problem: str) -> None:
    """Wait until every port says which chain has this problem, and that only that one has."""

    def is_reported() -> bool:
        return all(problem in str(page["chains"]["271"]) for page in health(chains).values())

    eventually(is_reported, lambda: str(health(chains)))
    for name, found in health(chains).items():
        assert {name: found["chains"][name] for name in NAMES if name != "271"} == dict.fromkeys(
            ("270", "272", L1)
        )
        if name != "271":
            assert found["status"] == "degraded"
            assert found["reason"].startswith("chain 271: ")
    samples = pages(chains, "/metrics")
    for name in NAMES:
        assert 'entresol_chain_problem{chain="271"} 1\n' in samples[name]
        assert 'entresol_chain_problem{chain="270"} 0\n' in samples[name]


def test_each_port_has_the_health_and_the_metrics_of_its_chain_by_name(
    chains: SeveralChains,
) -> None:
    for name, found in health(chains).items():
        assert found["status"] == "ready", found
        assert found["chains"] == dict.fromkeys(NAMES)
        assert ("deposits" in found) == (name != L1)
    for name, page in pages(chains, "/metrics").items():
        samples = [line for line in page.splitlines() if not line.startswith("#")]
        own = [sample for sample in samples if not sample.startswith("entresol_chain_problem")]
        assert own
        assert all(f'{{chain="{name}"' in line for line in own), own
        assert f'entresol_head_block{{chain="{name}"}} 0' in own
        assert sum(sample.startswith("entresol_chain_problem{") for sample in samples) == len(NAMES)


def test_a_chain_whose_operator_cannot_pay_leaves_the_others_alone(chains: SeveralChains) -> None:
    pair, operator = chains.pairs[BAD], str(operator_of(BAD).address)
    funds = pair.l1("eth_getBalance", operator, "latest")
    pair.l1("anvil_setBalance", operator, "0x0")
    pair.l2.receipt(pair.withdraw(1))
    reported_by_all(chains, "ether on L1")
    others_go_on(chains)
    assert pair.call_l1(pair.chain, "getTotalBatchesCommitted") == 0
    pair.l1("anvil_setBalance", operator, funds)
    chains.goes_on(BAD)
    eventually(lambda: all(page["status"] == "ready" for page in health(chains).values()))


def test_a_chain_whose_disk_fails_leaves_the_others_alone(
    chains: SeveralChains, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = chains.pairs[BAD]
    broken = chains.node.layer_twos[BAD].chain.ledger.store._db
    write = KeyValueStore._write

    def failing(store: KeyValueStore, *args: Any) -> None:
        if store is broken:
            store.failure = StoreFull(store._path, recovers=True)
            raise store.failure
        write(store, *args)

    with monkeypatch.context() as patched:
        patched.setattr(KeyValueStore, "_write", failing)
        patched.setattr(KeyValueStore, "recover", lambda _store: False)
        with pytest.raises(RpcError):
            pair.withdraw(1)
        assert json.loads(pages(chains, "/health")["271"])["status"] == "failing"
        reported_by_all(chains, "no space left for")
        others_go_on(chains)
        assert int(pair.l2("eth_chainId"), 16) == 271
    broken.failure = None
    chains.goes_on(BAD)
