"""State and block overrides, and the calls of `eth_simulateV1` and `eth_callMany` with theirs."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Final, TypeAlias, TypeVar

import msgspec

from entresol.errors import InvalidOverride, MalformedValue
from entresol.execution.calls import Bundle
from entresol.execution.overrides import BlockOverrides, StateOverride
from entresol.execution.simulation import BlockCalls, SimulationOptions
from entresol.primitives.values import Address, Data, Hash32, Quantity, Quantity64
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import Named
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import BlockId
from entresol.rpc.types.call_request import CallObject
from entresol.rpc.types.number import Number

T = TypeVar("T")

_DECIMAL: Final = re.compile("[0-9]{1,20}").fullmatch


# Without gc, because one request may have very many: they cannot be part of a cycle, and tracking them all would
# slow down every request.


class AccountOverride(JsonModel, frozen=True, kw_only=True, gc=False):
    """Overrides of an account: `state` replaces its whole storage, `stateDiff` some slots."""

    balance: Annotated[Quantity | None, says("The balance in wei.")] = None
    nonce: Annotated[
        Quantity64 | None, says("How many transactions it sent, or contracts it created.")
    ] = None
    code: Annotated[Data | None, says("The code of the account.")] = None
    state: Annotated[dict[str, Hash32] | None, says("The whole storage, by slot.")] = None
    state_diff: Annotated[dict[str, Hash32] | None, says("The slots that differ.")] = None
    move_precompile_to_address: Annotated[
        Address | None,
        says("Where the precompile of this address moves, so that its code can be replaced."),
    ] = None

    def override(self) -> StateOverride:
        """Return the domain value."""
        return StateOverride(
            balance=self.balance,
            nonce=self.nonce,
            code=None if self.code is None else bytes(self.code),
            state=_slots(self.state),
            state_diff=_slots(self.state_diff),
            move_precompile_to=self.move_precompile_to_address,
        )


class BlockOverride(JsonModel, frozen=True, kw_only=True):
    """Overrides of the block; the names of Erigon and of older clients are accepted too."""

    number: Annotated[Quantity64 | None, says("The number of the block.")] = None
    time: Annotated[Quantity64 | None, says("The time of the block, in seconds since 1970.")] = None
    gas_limit: Annotated[Quantity64 | None, says("The most gas that it may use.")] = None
    fee_recipient: Annotated[Address | None, says("Who receives the priority fees.")] = None
    prev_randao: Annotated[Hash32 | None, says("What PREVRANDAO returns.")] = None
    base_fee_per_gas: Annotated[Quantity64 | None, says("The base fee.")] = None
    blob_base_fee: Annotated[Quantity64 | None, says("The price of blob gas.")] = None
    difficulty: Annotated[Quantity | None, says("What DIFFICULTY returns before Paris.")] = None
    block_number: Annotated[Quantity64 | None, says("Another name of `number`.")] = None
    timestamp: Annotated[Quantity64 | None, says("Another name of `time`.")] = None
    coinbase: Annotated[Address | None, says("Another name of `feeRecipient`.")] = None
    random: Annotated[Hash32 | None, says("Another name of `prevRandao`.")] = None
    base_fee: Annotated[Quantity64 | None, says("The base fee per gas.")] = None
    block_hash: Annotated[
        dict[str, Hash32] | None, says("What BLOCKHASH returns, by block number.")
    ] = None

    def override(self) -> BlockOverrides:
        """Return the domain value."""
        return BlockOverrides(
            number=_either(self.number, self.block_number),
            time=_either(self.time, self.timestamp),
            gas_limit=self.gas_limit,
            fee_recipient=_either(self.fee_recipient, self.coinbase),
            prev_randao=_either(self.prev_randao, self.random),
            base_fee_per_gas=_either(self.base_fee_per_gas, self.base_fee),
            blob_base_fee=self.blob_base_fee,
            block_hash=_hashes(self.block_hash),
            difficulty=self.difficulty,
        )


StateOverrides: TypeAlias = dict[str, AccountOverride]
CODE_BYTES: Final = 512
"""Code that is hashed and analysed in the time that it takes to lay out a slot."""


def _too_many(path: str, noun: str, count: int, limit: int) -> InvalidOverride:
    return InvalidOverride(f"{path}: a request overrides at most {limit} {noun}, got {count}")


class OverrideLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many accounts and slots one request may override, in all its blocks together."""

    accounts: int = 1_000
    slots: int = 20_000

    def check(self, *given: StateOverrides | None) -> int:
        """Reject too many overrides; return how many accounts and slots there are, and as many as code takes."""
        accounts = slots = size = 0
        for overrides in given:
            accounts += len(overrides or ())
            for address, item in (overrides or {}).items():
                slots += len(item.state or ()) + len(item.state_diff or ())
                size += len(item.code or b"")
                if slots > self.slots:
                    raise _too_many(f"account {address[:70]}", "slots", slots, self.slots)
        if accounts > self.accounts:
            raise _too_many("state overrides", "accounts", accounts, self.accounts)
        return accounts + slots + size // CODE_BYTES

    def check_blocks(self, *given: BlockOverride | None) -> int:
        """Reject too many overridden block hashes; return how many there are."""
        count = sum(len(block.block_hash or ()) for block in given if block is not None)
        if count > self.slots:
            raise _too_many("block overrides", "block hashes", count, self.slots)
        return count


def state_overrides(accounts: StateOverrides | None) -> dict[Address, StateOverride] | None:
    """Return the domain values of overrides by address."""
    if not accounts:
        return None
    return {_parsed(Address, key): item.override() for key, item in accounts.items()}


def _either(value: T | None, other: T | None) -> T | None:
    return other if value is None else value


def _hashes(hashes: dict[str, Hash32] | None) -> dict[int, Hash32] | None:
    if hashes is None:
        return None
    # Numbers are decimal in Erigon, and hex everywhere else.
    return {
        int(_parsed(Quantity64, hex(int(key)) if _DECIMAL(key) else key)): value
        for key, value in hashes.items()
    }


def _slots(slots: dict[str, Hash32] | None) -> dict[Hash32, Hash32] | None:
    if slots is None:
        return None
    return {
        Hash32(_parsed(Quantity, slot).to_bytes(32)): value
        for slot, value in cooperatively(slots.items())
    }


def _parsed(kind: type[Any], key: str) -> Any:
    try:
        return kind.parse(key)
    except MalformedValue as error:
        raise MalformedValue(error.problem, field=key[:70]) from None


class BlockStateCalls(JsonModel, frozen=True, kw_only=True):
    """One block to simulate: its calls and overrides."""

    block_overrides: Annotated[BlockOverride | None, says("What differs in the block.")] = None
    state_overrides: Annotated[
        StateOverrides | None, says("What differs in accounts, by address.")
    ] = None
    calls: Annotated[list[CallObject] | None, says("What runs in the block, in order.")] = None

    def block_calls(self) -> BlockCalls:
        """Return the domain value."""
        block = self.block_overrides
        return BlockCalls(
            calls=tuple(call.request() for call in self.calls or ()),
            accounts=state_overrides(self.state_overrides),
            block=BlockOverrides() if block is None else block.override(),
        )


class SimulationPayload(JsonModel, frozen=True, kw_only=True):
    """Blocks to simulate, and options."""

    block_state_calls: Annotated[
        list[BlockStateCalls] | None, says("The blocks to simulate, in order.")
    ] = None
    trace_transfers: Annotated[
        bool | None, says("Whether transfers of ether are among the logs.")
    ] = None
    validation: Annotated[bool | None, says("Whether nonces, balances, fees are checked.")] = None
    return_full_transactions: Annotated[
        bool | None, says("Whether blocks have whole transactions in place of hashes.")
    ] = None

    def options(self) -> SimulationOptions:
        """Return the domain value."""
        return SimulationOptions(
            validation=bool(self.validation),
            trace_transfers=bool(self.trace_transfers),
            full_transactions=bool(self.return_full_transactions),
        )


class TransactionIndex:
    """How many transactions of the block run before the calls: a number, or all of them (`all` or -1)."""

    __slots__ = ("count",)

    json_schema: ClassVar[dict[str, Any]] = {"type": ["integer", "string"]}

    def __init__(self, count: int | None) -> None:
        self.count = count

    @classmethod
    def parse(cls, value: object) -> TransactionIndex:
        """Read a number, hex digits, `all` or -1."""
        return cls(None if value in ("all", -1) else int(Number.parse(value)))


class StateContext(JsonModel, frozen=True, kw_only=True):
    """The state of the first call: after a block, or after some of its transactions."""

    names: ClassVar = Named.CONTEXT

    block_number: Annotated[
        BlockId | None, says("The block after which the calls run; `latest` by default.")
    ] = None
    transaction_index: Annotated[
        TransactionIndex | None,
        says("Before which transaction of the block the calls run; after all of them by default."),
    ] = None


class CallBundle(JsonModel, frozen=True, kw_only=True):
    """Calls, and overrides of their block."""

    transactions: Annotated[list[CallObject], says("The calls, in order.")]
    block_override: Annotated[
        BlockOverride | None, says("What differs in the block of the bundle.")
    ] = None

    def bundle(self) -> Bundle:
        """Return the domain value."""
        block = self.block_override
        return Bundle(
            calls=tuple(transaction.request() for transaction in self.transactions),
            block=None if block is None else block.override(),
        )
