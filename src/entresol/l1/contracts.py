"""Bindings of the settlement contracts on L1: view calls and the deposits in their events."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from entresol._native import keccak256
from entresol.contracts.abi_registry import project_abis
from entresol.counted import batches
from entresol.errors import (
    EntresolError,
    ExecutionReverted,
    LayerOneMismatch,
    LayerOneRejected,
    MalformedValue,
)
from entresol.primitives import abi
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from entresol.errors import ExecutionFailed
    from entresol.l1.layer_one import L1Block, L1Log, LayerOne
    from entresol.primitives.batches import SettlementStep

T = TypeVar("T")

_CANONICAL: Final = (
    "(uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256[4],"
    "bytes,bytes,uint256[],bytes,bytes)"
)
REQUEST_TYPES: Final = f"(uint256,bytes32,uint64,{_CANONICAL},bytes[])"

NEW_PRIORITY_REQUEST: Final = Hash32(keccak256(f"NewPriorityRequest{REQUEST_TYPES}".encode()))
BATCH_COMMITTED: Final = Hash32(keccak256(b"BlockCommit(uint256,bytes32,bytes32)"))
BATCHES_VERIFIED: Final = Hash32(keccak256(b"BlocksVerification(uint256,uint256)"))
BATCH_EXECUTED: Final = Hash32(keccak256(b"BlockExecution(uint256,bytes32,bytes32)"))


class Deposit(msgspec.Struct, frozen=True):
    """A priority transaction, and the L1 block and transaction that requested it."""

    payload: PriorityTransaction
    block: int
    block_hash: Hash32
    transaction: Hash32

    @property
    def priority_id(self) -> int:
        """The id that L1 gave it."""
        return self.payload.nonce


class BatchTotals(msgspec.Struct, frozen=True):
    """How many batches L1 has committed, verified and executed."""

    committed: int
    verified: int
    executed: int

    def __post_init__(self) -> None:
        """Reject totals that no contract has: a batch is committed, then verified, then executed."""
        if not 0 <= self.executed <= self.verified <= self.committed:
            raise LayerOneMismatch(
                f"L1 has executed {batches(self.executed)}, verified {self.verified} and committed "
                f"{self.committed}, which contradict each other"
            )

    def last(self, step: SettlementStep) -> int:
        """Return the last batch that has this step."""
        return (self.committed, self.verified, self.executed)[step]


class Bridgehub:
    """The bridgehub: the registry of chains and of their contracts."""

    def __init__(self, l1: LayerOne, address: Address) -> None:
        self._l1 = l1
        self.address = address

    async def zk_chain(self, chain_id: int) -> Address:
        """Return the address of a chain's contract; zero if it is not registered."""
        return await self._address("getZKChain(uint256)", chain_id)

    async def base_token(self, chain_id: int) -> Address:
        """Return the L1 token that pays for gas on a chain; 0x…01 is ether."""
        return await self._address("baseToken(uint256)", chain_id)

    async def asset_router(self) -> Address:
        """Return the address of the asset router."""
        return await self._address("assetRouter()")

    async def chain_type_manager(self, chain_id: int) -> Address:
        """Return the address of a chain's chain type manager."""
        return await self._address("chainTypeManager(uint256)", chain_id)

    async def _address(self, signature: str, *arguments: object) -> Address:
        return Address(
            await read_contract(self._l1, self.address, signature, "address", *arguments)
        )


class ZkChain:
    """The contract of one chain: its mailbox, its getters and its executor."""

    def __init__(self, l1: LayerOne, address: Address, first_block: int = 0) -> None:
        self.l1 = l1
        self.address = address
        self.first_block = first_block
        """The L1 block before which the contract did not exist, so that no log is there."""

    async def totals(self, block: int | Hash32 | None = None) -> BatchTotals:
        """Return how many batches are committed, verified and executed, now or as of a block."""
        # In this order they do not contradict each other if a block is added in between.
        executed = await self._number("getTotalBatchesExecuted()", block)
        verified = await self._number("getTotalBatchesVerified()", block)
        committed = await self._number("getTotalBatchesCommitted()", block)
        return BatchTotals(committed, verified, executed)

    async def chain_id(self) -> int:
        """Return the id of the chain that settles here."""
        return await self._number("getChainId()")

    async def total_priority_transactions(self, block: int | Hash32 | None = None) -> int:
        """Return how many priority transactions were requested, up to now or to a block."""
        return await self._number("getTotalPriorityTxs()", block)

    async def is_priority_root(self, root: Hash32, height: int, last: L1Block) -> bool:
        """Return whether the priority tree has, or had, a root, as of a block or, without its state, the latest."""

        async def read(block: int | Hash32 | None) -> bool:
            signature = "isPriorityTreeRoot(bytes32,uint256)"
            found = await read_contract(
                *(self.l1, self.address, signature, "bool", root, height), block=block
            )
            return bool(found)

        return await read_as_of(read, last.hash, last.number, None)

    async def priority_tx_max_gas(self, block: int | None = None) -> int:
        """Return the maximum gas of a request, beyond its overhead, now or as of a block."""
        return await self._number("getPriorityTxMaxGasLimit()", block)

    async def admin(self) -> Address:
        """Return the account that may change the settings of the chain."""
        return Address(await read_contract(self.l1, self.address, "getAdmin()", "address"))

    async def ether_price(self, block: int | Hash32) -> EtherPrice:
        """Return what ether costs in the base token as of a block; raises `LayerOneMismatch` if it is not a price."""
        nominator = await self._number("baseTokenGasPriceMultiplierNominator()", block)
        denominator = await self._number("baseTokenGasPriceMultiplierDenominator()", block)
        try:
            return EtherPrice(nominator, denominator)
        except ValueError as error:
            raise LayerOneMismatch(
                f"the contract {self.address.checksummed()} on {self.l1.name} has {nominator} / {denominator} as what "
                f"ether costs in the base token: {error}"
            ) from error

    async def stored_batch_hash(self, number: int, block: Hash32 | None = None) -> Hash32:
        """Return the hash of a batch's `StoredBatchInfo`; zero if it is not committed."""
        found = await read_contract(
            self.l1, self.address, "storedBatchHash(uint256)", "bytes32", number, block=block
        )
        return Hash32(found)

    async def message_root(self, number: int, block: Hash32 | None = None) -> Hash32:
        """Return the root of a batch's message tree; zero before its execution."""
        found = await read_contract(
            self.l1, self.address, "l2LogsRootHash(uint256)", "bytes32", number, block=block
        )
        return Hash32(found)

    async def deposits(self, first: int, last: int) -> list[Deposit]:
        """Return the priority transactions that were requested in a range of L1 blocks, in order."""
        found = await self.l1.logs(self.address, [NEW_PRIORITY_REQUEST], first, last)
        return [decode_deposit(log) for log in found]

    async def _number(self, signature: str, block: int | Hash32 | None = None) -> int:
        found = await read_contract(self.l1, self.address, signature, "uint256", block=block)
        return int(found)


async def read_as_of(
    read: Callable[[int | Hash32 | None], Awaitable[T]], *blocks: int | Hash32 | None
) -> T:
    """Return what is read as of the first of these blocks that L1 takes: by hash, by number, the latest.

    Not every node takes a hash, and only archive nodes have the state of old blocks.
    """
    for block in blocks[:-1]:
        with suppress(LayerOneRejected):
            return await read(block)
    return await read(blocks[-1])


async def read_contract(
    l1: LayerOne,
    contract: Address,
    signature: str,
    returns: str,
    *arguments: object,
    block: int | Hash32 | None = None,
) -> Any:
    """Return the result of a view function; raises `LayerOneMismatch` if the contract has no such one."""
    output = await l1.call(contract, abi.encode_call(signature, *arguments), block=block)
    try:
        return abi.decode(f"({returns})", output)[0]
    except MalformedValue as error:
        problem = f"no contract with {signature} at {contract.checksummed()} on {l1.name}"
        raise LayerOneMismatch(problem) from error


def decode_deposit(log: L1Log) -> Deposit:
    """Decode a `NewPriorityRequest` event; raises `LayerOneMismatch` if its hash does not match."""
    try:
        priority_id, claimed_hash, _, words, codes = abi.decode(REQUEST_TYPES, log.data)
        # As the store reads it later.
        canonical = abi.encode(f"({_CANONICAL})", (words,))
        payload = PriorityTransaction.from_abi(canonical, codes)
        payload.check_request()
    except EntresolError as error:
        raise LayerOneMismatch(f"{_location(log)} is not readable: {error}") from error
    if payload.hash() != claimed_hash or payload.nonce != priority_id:
        raise LayerOneMismatch(f"{_location(log)} does not match its own hash or id")
    return Deposit(payload, log.block_number, log.block_hash, log.transaction_hash)


def _location(log: L1Log) -> str:
    return f"the deposit in transaction {log.transaction_hash} of L1 block {log.block_number}"


def reason_of(data: bytes) -> str:
    """Return what revert data say: the custom error with its arguments, or the data themselves."""
    return project_abis().error(data) or f"0x{data.hex()}"


def failure_reason(failure: ExecutionFailed) -> str:
    """Return why a call failed: its message, its custom error with arguments, or its revert data."""
    if not isinstance(failure, ExecutionReverted):
        return str(failure)
    error = project_abis().error(failure.data)
    if error is not None:
        return error
    raw = f" with 0x{failure.data.hex()}" if failure.data else ""
    return str(failure) if ":" in str(failure) else f"{failure}{raw}"
