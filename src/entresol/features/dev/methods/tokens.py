"""Balances and allowances of ERC-20 tokens: `anvil_dealERC20` and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import msgspec

from entresol.errors import (
    DeadlinePassed,
    EntresolError,
    MalformedValue,
    NotEvmCode,
    RemoteFailed,
    StateMissing,
)
from entresol.execution.calls import CallRequest, call, create_access_list
from entresol.execution.overrides import StateOverride, override
from entresol.features.dev.errors import TokenSlotNotFound
from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.codec import convert
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.types.block_id import LATEST
from entresol.rpc.types.number import Number256
from entresol.state_missing import retried, work_clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol._native import Overlay
    from entresol.chain.chain import Chain
    from entresol.execution.evm_env import EvmEnv
    from entresol.execution.limits import CallLimits
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.call_runner import CallRunner
    from entresol.rpc.threads.client_threads import Threads


MAX_SLOTS: Final = 256
"""How many slots are tried; a token reads a few."""


class TokenSlots:
    """Finds slots on the latest state, on a thread."""

    def __init__(self, resolver: BlockResolver, runner: CallRunner, threads: Threads) -> None:
        self._resolver = resolver
        self._runner = runner
        self._threads = threads

    async def find(self, token: Address, query: bytes, value: Hash32) -> Hash32 | None:
        """Return the slot that makes the call `query` to the token return `value`; None if there is none."""
        evm_env = self._resolver.evm_env(LATEST)
        request = CallRequest(to=token, data=query)
        search = self._runner.offload(lambda limits: _search(evm_env, request, value, limits))
        return await self._threads.run(search.work)


def _search(
    evm_env: EvmEnv, request: CallRequest, value: Hash32, limits: CallLimits
) -> Hash32 | None:
    """Try each slot of the token that the call reads, all within the time of one call."""
    end = None if limits.seconds is None else work_clock() + limits.seconds
    token = request.to
    assert token is not None
    try:
        touched = create_access_list(evm_env, request, limits).access_list
    except (NotEvmCode, RemoteFailed, StateMissing):
        raise
    except EntresolError:
        return None
    slots = [Hash32(slot) for account, slots in touched if account == token for slot in slots]
    for slot in slots[:MAX_SLOTS]:
        if end is not None:
            limits = msgspec.structs.replace(limits, seconds=max(end - work_clock(), 0.001))
        changed = override(evm_env, {token: StateOverride(state_diff={slot: value})})
        try:
            if call(changed, request, limits)[: Hash32.size] == value:
                return slot
        except (DeadlinePassed, RemoteFailed, StateMissing):
            raise
        except EntresolError:
            continue
    return None


MAX_ACCOUNTS: Final = 100
"""How many accounts a request may name: for each a token is called several times."""

_ADDRESS_SCHEMA: Final = {"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$"}

_BALANCE_OF: Final = bytes.fromhex("70a08231")
_ALLOWANCE: Final = bytes.fromhex("dd62ed3e")
_MAX_AMOUNT: Final = 2**256 - 1


class TokenEdits:
    """Sets what a token stores in a slot of its own, which the calls that read it reveal."""

    def __init__(self, chain: Chain, slots: TokenSlots) -> None:
        self._chain = chain
        self._slots = slots

    async def set_balance(self, account: Address, token: Address, amount: int) -> None:
        """Set the balance of an account."""
        await self._set(token, _BALANCE_OF + _word(account), amount, "balance")

    async def set_balances(
        self, accounts: Sequence[Address], token: Address, amount: int, *, adds: bool = False
    ) -> None:
        """Set the balances of accounts, or with `adds` add to them, all at once; a sum is at most 2^256 - 1."""
        slots = [
            await self._slot(token, _BALANCE_OF + _word(account), amount, "balance")
            for account in accounts
        ]

        def edit(state: Overlay) -> None:
            for slot in dict.fromkeys(slots):
                before = int.from_bytes(state.slot(token, slot)) if adds else 0
                state.set_slot(token, slot, min(before + amount, _MAX_AMOUNT).to_bytes(32))

        await retried(lambda: self._chain.edit(token, edit))

    async def set_allowance(
        self, owner: Address, spender: Address, token: Address, amount: int
    ) -> None:
        """Set how much a spender may transfer from an owner."""
        await self._set(token, _ALLOWANCE + _word(owner) + _word(spender), amount, "allowance")

    async def _set(self, token: Address, query: bytes, amount: int, what: str) -> None:
        slot = await self._slot(token, query, amount, what)
        value = int(amount).to_bytes(32)
        await retried(
            lambda: self._chain.edit(token, lambda state: state.set_slot(token, slot, value))
        )

    async def _slot(self, token: Address, query: bytes, amount: int, what: str) -> Hash32:
        """Return the slot that makes the token respond with an amount; zero is what others might, too."""
        slot = await self._slots.find(token, query, Hash32((int(amount) or 1).to_bytes(32)))
        if slot is None:
            raise TokenSlotNotFound(what)
        return slot


class HardhatTokens:
    """Tokens, with the results of Hardhat."""

    prefix = "hardhat"
    acknowledges = True

    def __init__(self, edits: TokenEdits) -> None:
        self._edits = edits

    @method(TokenSlotNotFound, name="{prefix}_dealERC20")
    async def deal_erc20(self, account: Address, token: Address, amount: Number256) -> None:
        """Set the balance of an account in a token that stores it in a slot of its own."""
        await self._edits.set_balance(account, token, amount)


class AnvilTokens(HardhatTokens):
    """Tokens, with the results of anvil, and more methods."""

    prefix = "anvil"
    acknowledges = False

    @method(TokenSlotNotFound, name="anvil_setERC20Balance")
    async def set_erc20_balance(self, account: Address, token: Address, amount: Number256) -> None:
        """Set the balance of an account in a token; an alias of `anvil_dealERC20`."""
        await self._edits.set_balance(account, token, amount)

    @method(TokenSlotNotFound, name="anvil_setERC20Allowance")
    async def set_erc20_allowance(
        self, owner: Address, spender: Address, token: Address, amount: Number256
    ) -> None:
        """Set the allowance of a spender in a token that stores it in a slot of its own."""
        await self._edits.set_allowance(owner, spender, token, amount)


class Accounts:
    """An address, or an array of addresses."""

    __slots__ = ("addresses",)

    json_schema: ClassVar[dict[str, Any]] = {
        "anyOf": [
            _ADDRESS_SCHEMA,
            {"type": "array", "items": _ADDRESS_SCHEMA, "minItems": 1, "maxItems": MAX_ACCOUNTS},
        ]
    }

    def __init__(self, addresses: tuple[Address, ...]) -> None:
        self.addresses = addresses

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read an address, or an array of one to 100 of them."""
        if not isinstance(value, list):
            return cls((convert(value, Address),))
        if not 1 <= len(value) <= MAX_ACCOUNTS:
            raise MalformedValue(f"one to {MAX_ACCOUNTS} accounts are expected, got {len(value)}")
        return cls(tuple(convert(value, list[Address])))


class TenderlyTokens:
    """Tokens by the names of Tenderly: the token comes first, and several accounts may be given at once.

    No `Transfer` is emitted, since nothing is executed, and there is no transaction whose hash could be returned.
    """

    prefix = "tenderly"

    def __init__(self, edits: TokenEdits) -> None:
        self._edits = edits

    @method(TokenSlotNotFound)
    async def set_erc20_balance(
        self, token: Address, accounts: Accounts, amount: Number256
    ) -> None:
        """Set the balance of one account or of up to 100 in a token that stores it in a slot of its own."""
        await self._edits.set_balances(accounts.addresses, token, int(amount))

    @method(TokenSlotNotFound)
    async def add_erc20_balance(
        self, token: Address, accounts: Accounts, amount: Number256
    ) -> None:
        """Add to the balance of one account or of up to 100 in a token; a sum is at most 2^256 - 1."""
        await self._edits.set_balances(accounts.addresses, token, int(amount), adds=True)

    @method(TokenSlotNotFound)
    async def set_max_erc20_balance(self, token: Address, accounts: Accounts) -> None:
        """Set the balance of one account or of up to 100 in a token to 2^256 - 1."""
        await self._edits.set_balances(accounts.addresses, token, _MAX_AMOUNT)


def _word(address: Address) -> bytes:
    return bytes(12) + address
