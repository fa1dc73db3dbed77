"""Record the examples of the reference page from a node that is the same at each start."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from docs.tools.examples.example import RESULT, Call, Example
from docs.tools.examples.examples import examples
from entresol._native import keccak256
from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from entresol.node.build_node import build_node
from entresol.node.config.schema import ChainConfig, NodeConfig
from entresol.node.node import Node
from entresol.primitives import abi
from entresol.primitives.batches import SettlementStep
from entresol.primitives.l2_to_l1_logs import L1_MESSENGER
from entresol.primitives.transactions import FeeMarketTransaction, Transaction, sign
from entresol.primitives.values import Address, Hash32, create_address
from entresol.sequencer.sequencer import InlineSequencer
from entresol.server.handler import LocalConnection

MIDNIGHT: Final = 1_767_225_600.0
"""The time of the node's clock, always: the first second of 2026."""

ALICE, BOB = derive(DEVELOPMENT_MNEMONIC, 2)
COUNTER: Final = Address(create_address(ALICE.address, 1))

# Increments its first slot; emits and returns the new value.
_INCREMENTED: Final = keccak256(b"Incremented(uint256)").hex()
_PROGRAM: Final = bytes.fromhex(f"5f54600101805f555f527f{_INCREMENTED}60205fa160205ff3")
_CREATION: Final = bytes([0x60, len(_PROGRAM), 0x80, 0x60, 9, 0x5F, 0x39, 0x5F, 0xF3]) + _PROGRAM

CHANGING: Final = (
    *("evm_", "anvil_", "hardhat_", "tenderly_", "eth_send", "zks_send"),
    "unstable_send",
)
"""Prefixes of the methods that change a node."""

RANDOM: Final = frozenset(
    {
        "eth_newFilter",
        "eth_newBlockFilter",
        "eth_newPendingTransactionFilter",
        "eth_subscribe",
    }
)
"""Methods whose result is random."""

STAND_IN: Final = "0xc7a3f1d05e924b68c7a3f1d05e924b68"
"""The id that the page shows in place of a random one."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """The accounts, transactions and blocks that examples refer to.

    Alice paid Bob in block 1, deployed a counter in block 2, incremented it in block 3 and sent a message
    to L1 in block 4; the four blocks are batch 1, which L1 has executed.
    """

    alice: str
    bob: str
    counter: str
    counter_code_hash: str
    transfer: str
    increment: str
    message: str
    message_hash: str
    next_transfer: str
    next_contract: str
    block_hashes: tuple[str, ...]

    def hash_of_block(self, number: int) -> str:
        """Return the hash of a block."""
        return self.block_hashes[number]


class Exchange(msgspec.Struct, frozen=True):
    """A request and its response, as JSON values."""

    request: dict[str, Any]
    response: dict[str, Any]


class Recorder:
    """Calls nodes that are all alike, a fresh one after each call that changed the last one."""

    def __init__(self) -> None:
        self._node: Node | None = None

    async def close(self) -> None:
        """Stop the node, if there is one."""
        if self._node is not None:
            await self._node.stop()
            self._node = None

    async def methods(self) -> Mapping[str, Any]:
        """Return the OpenRPC document."""
        response = await self._call(Call("rpc.discover"))
        document: dict[str, Any] = response["result"]
        return document

    async def world(self) -> World:
        """Return what examples refer to."""
        chain = (await self.node()).chain
        store = chain.blocks
        return World(
            alice=str(ALICE.address),
            bob=str(BOB.address),
            counter=str(COUNTER),
            transfer=str(_TRANSFER.hash),
            counter_code_hash="0x" + keccak256(_PROGRAM).hex(),
            increment=str(_INCREMENT.hash),
            message=str(_MESSAGE.hash),
            message_hash="0x" + keccak256(_TEXT).hex(),
            next_transfer="0x" + _NEXT_TRANSFER.raw.hex(),
            next_contract=str(create_address(ALICE.address, _NEXT_TRANSFER.payload.nonce)),
            block_hashes=tuple(str(store.block_hash(n)) for n in range(chain.number + 1)),
        )

    async def record(self, method: str, shown: Example) -> Exchange:
        """Make the call of an example, after its preparatory calls."""
        changes = bool(shown.before) or method.startswith(CHANGING)
        if changes:
            await self.close()
        result, stand_in = None, None
        for earlier in shown.before:
            result = (await self._call(earlier))["result"]
            stand_in = STAND_IN if earlier.method in RANDOM else result
        request = _request(method, _filled(shown.params, stand_in))
        response = await self._call(Call(method, _filled(shown.params, result)))
        if changes:
            await self.close()
        if method in RANDOM:
            response["result"] = STAND_IN
        return Exchange(request, response)

    async def node(self, *, settles: bool = True) -> Node:
        """Return the node, a fresh one with four blocks if there is none, which are batch 1 if it `settles`."""
        if self._node is None:
            self._node = build_node(NodeConfig(chain=ChainConfig(timestamp=0)))
            self._node.chain.clock.restart(lambda: MIDNIGHT)
            self._node.chain.instance_id = Hash32(bytes.fromhex(STAND_IN[2:]) * 2)
            for transaction in (_TRANSFER, _DEPLOYMENT, _INCREMENT, _MESSAGE):
                InlineSequencer(self._node.chain).submit(transaction.raw)
            if settles:
                await self._settle(self._node)
        return self._node

    async def _settle(self, node: Node) -> None:
        """Seal all blocks as batch 1, and settle it on L1."""
        assert node.rollup is not None
        assert node.layer_one is not None
        l1 = node.layer_one.chain
        l1.clock.restart(lambda: MIDNIGHT)
        l1.schedule.seal_at_once()
        for step in SettlementStep:
            await node.rollup.settle(step, 1)
        # This also sets the finality of its blocks.
        await node.rollup.settler.step(0.0)

    async def _call(self, made: Call) -> dict[str, Any]:
        node = await self.node()
        body = json.dumps(_request(made.method, made.params)).encode()
        response = node.handler(body, LocalConnection())
        if response is not None and not isinstance(response, bytes):
            response = await response
        assert response is not None
        value: dict[str, Any] = json.loads(response)
        return value


async def document_of_methods() -> Mapping[str, Any]:
    """Return the OpenRPC document of a fresh node."""
    recorder = Recorder()
    try:
        return await recorder.methods()
    finally:
        await recorder.close()


async def record_all() -> tuple[Mapping[str, Any], dict[str, Exchange]]:
    """Return the OpenRPC document, and an exchange for each method that has an example."""
    recorder = Recorder()
    try:
        document = await recorder.methods()
        known = examples(await recorder.world())
        exchanges = {}
        for method in [entry["name"] for entry in document["methods"]]:
            shown = example_of(method, known)
            if shown is not None:
                exchanges[method] = await recorder.record(method, shown)
        return document, exchanges
    finally:
        await recorder.close()


def example_of(method: str, known: Mapping[str, Example]) -> Example | None:
    """Return the example of a method; Hardhat's names share those of anvil's."""
    twin = method.replace("hardhat_", "anvil_", 1)
    return known.get(method) or known.get(twin)


def _request(method: str, params: tuple[Any, ...]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}


def _filled(params: tuple[Any, ...], result: Any) -> tuple[Any, ...]:
    return tuple(result if param == RESULT else param for param in params)


def _signed(nonce: int, to: Address | None, data: bytes = b"", value: int = 0) -> Transaction:
    payload = FeeMarketTransaction(
        chain_id=NodeConfig().chain.chain_id,
        nonce=nonce,
        to=to,
        data=data,
        value=value,
        gas_limit=200_000,
        max_fee_per_gas=1_000_000_000,
        max_priority_fee_per_gas=0,
    )
    return sign(payload, ALICE.secret)


_TRANSFER: Final = _signed(0, BOB.address, value=10**18)
_DEPLOYMENT: Final = _signed(1, None, _CREATION)
_INCREMENT: Final = _signed(2, COUNTER)
_TEXT: Final = b"hello, L1"
_MESSAGE: Final = _signed(3, L1_MESSENGER, abi.encode_call("sendToL1(bytes)", _TEXT))
_NEXT_TRANSFER: Final = _signed(4, BOB.address, value=1)
