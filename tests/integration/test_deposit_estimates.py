"""Estimates of `zks_estimateGasL1ToL2` are enough on both layers, and half of them on neither."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.node.build_node import build_node
from entresol.node.config.schema import L1Config, NodeConfig
from entresol.primitives.values import Address
from tests.support.evm.programs import Step, call_to, create, demand_gas, program, store, work
from tests.support.rollup.pair import ETHER, USER, Pair
from tests.support.rpc_client import DispatcherClient, RpcError
from tests.support.run.examples import examples

TARGET, INNER, EMPTY = (Address(bytes([number]) * 20) for number in (0xC1, 0xC2, 0xC3))


class InProcessLayers:
    """Both layers in this process, each moved only by the test."""

    def __init__(self) -> None:
        self._loop = asyncio.Runner()
        self.node = build_node(NodeConfig(l1=L1Config(l1_delay=0)))
        assert self.node.layer_one is not None
        assert self.node.rollup is not None
        self.rollup = self.node.rollup
        self.pair = Pair(
            DispatcherClient(self.node.layer_one.api.dispatcher),
            DispatcherClient(self.node.layer_two.api.dispatcher),
            msgspec.structs.asdict(self.rollup.settlement_layer.contracts),
        )

    def stop(self) -> None:
        """Stop the node."""
        with self._loop:
            self._loop.run(self.node.stop())

    def set_code(self, address: Address, code: str) -> None:
        """Put a contract on L2."""
        self.pair.l2("anvil_setCode", str(address), "0x" + code)

    def is_enough(
        self, gas_limit: int, to: Address, value: int, data: bytes, deps: list[bytes]
    ) -> bool:
        """Return whether a deposit with this much gas is accepted on L1 and succeeds on L2."""
        try:
            self.pair.deposit(
                value, to=to, data=data, dependencies=deps, gas_limit=gas_limit, fee=ETHER
            )
        except RpcError as error:
            if not error.message.startswith("execution reverted"):
                raise
            return False
        assert self._loop.run(self._include_deposits()) == 1
        return self.node.chain.blocks.record(self.node.chain.number).results[0].succeeded

    async def _include_deposits(self) -> int:
        """Read the deposits of L1, and let the node seal blocks for all of them."""
        found = await self.rollup.watcher.step()
        # Heavy ones are sealed in the background, by tasks of this loop.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        while self.node.chain.filler.priority:
            await asyncio.wait(others)
        return found


@pytest.fixture(scope="module")
def layers() -> Iterator[InProcessLayers]:
    layers = InProcessLayers()
    yield layers
    layers.stop()


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
@settings(max_examples=examples(60))
@given(
    steps=st.lists(STEPS, max_size=6),
    inner=st.lists(st.builds(store, st.integers(0, 9), st.integers(1, 9)), max_size=4),
    size=st.one_of(st.integers(0, 200), st.integers(0, 20_000)),
    value=st.integers(0, ETHER),
    deps=DEPENDENCIES,
)
def test_an_estimate_is_enough_and_half_of_it_is_not(
    layers: InProcessLayers,
    steps: list[Step],
    inner: list[Step],
    size: int,
    value: int,
    deps: list[bytes],
) -> None:
    layers.set_code(INNER, program(inner))
    to = TARGET if steps else EMPTY
    if steps:
        layers.set_code(TARGET, program(steps))
    data = bytes(number % 256 for number in range(size))
    meta = {"gasPerPubdata": hex(800), "factoryDeps": [list(dep) for dep in deps]}
    call = {
        "from": str(USER),
        "to": str(to),
        "value": hex(value),
        "data": "0x" + data.hex(),
        "eip712Meta": meta,
    }
    gas_limit = int(layers.pair.l2("zks_estimateGasL1ToL2", call), 16)
    assert int(layers.pair.l2("eth_estimateGas", {**call, "type": "0x7f"}), 16) == gas_limit
    assert not layers.is_enough(gas_limit // 2, to, value, data, deps)
    # A failed attempt leaves nothing behind that would make this one cheaper.
    assert layers.is_enough(gas_limit, to, value, data, deps)


@pytest.mark.parametrize(
    "data", [b"\x01" * 60_000, bytes(60_000), bytes(60_000) + b"\xff" * 60_000], ids=len
)
@pytest.mark.parametrize(
    ("method", "kind"),
    [("zks_estimateGasL1ToL2", "0x71"), ("eth_estimateGas", "0x7f"), ("eth_estimateGas", "0xff")],
)
def test_an_estimate_for_much_calldata_is_enough(
    layers: InProcessLayers, data: bytes, method: str, kind: str
) -> None:
    call = {"from": str(USER), "to": str(EMPTY), "data": "0x" + data.hex(), "type": kind}
    gas_limit = int(layers.pair.l2(method, call), 16)
    assert layers.is_enough(gas_limit, EMPTY, 0, data, [])


def test_l1_rejects_what_l2_could_not_start(layers: InProcessLayers) -> None:
    data = b"\x01" * 60_000
    floor = 21_000 + 40 * len(data)
    assert not layers.is_enough(floor - 1, EMPTY, 0, data, [])
    assert layers.is_enough(floor, EMPTY, 0, data, [])
