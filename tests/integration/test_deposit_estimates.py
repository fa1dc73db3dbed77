"""What `zks_estimateGasL1ToL2` answers is enough on both layers, and half of it on neither."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.node.chain_service import ChainService
from entresol.node.config.schema import L1Config, NodeConfig
from entresol.node.node import Node
from entresol.primitives import abi
from entresol.primitives.values import Address
from tests.support.evm.programs import Step, call_to, create, demand_gas, program, store, work
from tests.support.rollup.pair import CHAIN_ID, DIRECT, ETHER, USER
from tests.support.rpc_client import DispatcherClient

TARGET, INNER, EMPTY = (Address(bytes([number]) * 20) for number in (0xC1, 0xC2, 0xC3))


class Pair:
    """Both layers in this process, each moved only by the test."""

    def __init__(self) -> None:
        self.node = Node(NodeConfig(l1=L1Config(l1_delay=0)))
        assert self.node.layer_one is not None
        assert self.node.rollup is not None
        self._l1, self._l2 = self.node.layer_one, self.node.layer_two
        self._rollup = self.node.rollup
        self.bridgehub = self._rollup.settlement_layer.contracts.bridgehub

    def l1(self, method: str, *params: object) -> Any:
        """Ask L1, and return the answer."""
        return _ask(self._l1, method, params)

    def l2(self, method: str, *params: object) -> Any:
        """Ask L2, and return the answer."""
        return _ask(self._l2, method, params)

    def put(self, address: Address, code: str) -> None:
        """Put a contract on L2."""
        assert "error" not in self.l2("anvil_setCode", str(address), "0x" + code)

    def deposit(
        self, gas_limit: int, to: Address, value: int, data: bytes, deps: list[bytes]
    ) -> bool:
        """Deposit, and say whether L1 took it and it succeeded on L2."""
        paid = value + ETHER
        request = (CHAIN_ID, paid, to, value, data, gas_limit, 800, deps, USER)
        call = abi.encode_call(DIRECT, request)
        transaction = {
            "from": str(USER),
            "to": str(self.bridgehub),
            "data": "0x" + call.hex(),
            "value": hex(paid),
            "gas": hex(15_000_000),
        }
        taken = self.l1("eth_sendTransaction", transaction)["result"]
        receipt = self.l1("eth_getTransactionReceipt", taken)["result"]
        if receipt["status"] != "0x1":
            return False
        assert asyncio.run(self._rollup.watcher.step()) == 1
        return self.node.chain.ledger.record(self.node.chain.number).results[0].succeeded


def _ask(layer: ChainService, method: str, params: tuple[object, ...]) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return json.loads(asyncio.run(DispatcherClient(layer.api.dispatcher).ask(body)))


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    asyncio.run(made.node.stop())


STEPS = st.one_of(
    st.builds(work, st.integers(1, 60_000)),
    st.builds(store, st.integers(0, 255), st.integers(0, 255)),
    st.builds(demand_gas, st.integers(1, 2_000_000)),
    st.builds(create, st.integers(0, 3_000)),
    st.just(call_to(INNER)),
)
# Published code has an odd number of words.
DEPENDENCIES = st.lists(
    st.integers(0, 20).map(lambda words: bytes([words]) * 32 * (2 * words + 1)), max_size=3
)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    steps=st.lists(STEPS, max_size=6),
    inner=st.lists(st.builds(store, st.integers(0, 9), st.integers(1, 9)), max_size=4),
    size=st.one_of(st.integers(0, 200), st.integers(0, 20_000)),
    value=st.integers(0, ETHER),
    deps=DEPENDENCIES,
)
def test_an_estimate_is_enough_and_half_of_it_is_not(
    pair: Pair, steps: list[Step], inner: list[Step], size: int, value: int, deps: list[bytes]
) -> None:
    pair.put(INNER, program(inner))
    to = TARGET if steps else EMPTY
    if steps:
        pair.put(TARGET, program(steps))
    data = bytes(number % 256 for number in range(size))
    meta = {"gasPerPubdata": hex(800), "factoryDeps": [list(it) for it in deps]}
    asked = {
        "from": str(USER),
        "to": str(to),
        "value": hex(value),
        "data": "0x" + data.hex(),
        "eip712Meta": meta,
    }
    answer = pair.l2("zks_estimateGasL1ToL2", asked)
    gas_limit = int(answer["result"], 16)
    assert not pair.deposit(gas_limit // 2, to, value, data, deps)
    # A failed attempt leaves nothing behind that would make this one cheaper.
    assert pair.deposit(gas_limit, to, value, data, deps)
