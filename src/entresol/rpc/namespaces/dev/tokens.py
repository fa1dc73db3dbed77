"""Balances and allowances of ERC-20 tokens: `anvil_dealERC20` and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import TokenSlotNotFound
from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.types.number import Number256
from entresol.state_missing import retried

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.rpc.services.token_slots import TokenSlots

_BALANCE_OF: Final = bytes.fromhex("70a08231")
_ALLOWANCE: Final = bytes.fromhex("dd62ed3e")


class TokenEdits:
    """Sets what a token stores in a slot of its own, which the calls that read it reveal."""

    def __init__(self, chain: Chain, slots: TokenSlots) -> None:
        self._chain = chain
        self._slots = slots

    async def set_balance(self, account: Address, token: Address, amount: int) -> None:
        """Set the balance of an account."""
        await self._set(token, _BALANCE_OF + _word(account), amount, "balance")

    async def set_allowance(
        self, owner: Address, spender: Address, token: Address, amount: int
    ) -> None:
        """Set how much a spender may transfer from an owner."""
        await self._set(token, _ALLOWANCE + _word(owner) + _word(spender), amount, "allowance")

    async def _set(self, token: Address, query: bytes, amount: int, what: str) -> None:
        value = Hash32(int(amount).to_bytes(32))
        slot = await self._slots.find(token, query, value)
        if slot is None:
            raise TokenSlotNotFound(what)
        await retried(
            lambda: self._chain.edit(token, lambda state: state.set_slot(token, slot, value))
        )


class AnvilTokens:
    """Tokens, with the results of anvil."""

    prefix = "anvil"

    def __init__(self, edits: TokenEdits) -> None:
        self._edits = edits

    @method(TokenSlotNotFound, name="anvil_dealERC20", served_by=ServedBy.PRODUCER)
    async def deal_erc20(self, account: Address, token: Address, amount: Number256) -> None:
        """Set the balance of an account in a token that stores it in a slot of its own."""
        await self._edits.set_balance(account, token, amount)

    @method(TokenSlotNotFound, name="anvil_setERC20Balance", served_by=ServedBy.PRODUCER)
    async def set_erc20_balance(self, account: Address, token: Address, amount: Number256) -> None:
        """Set the balance of an account in a token; an alias of `anvil_dealERC20`."""
        await self._edits.set_balance(account, token, amount)

    @method(TokenSlotNotFound, name="anvil_setERC20Allowance", served_by=ServedBy.PRODUCER)
    async def set_erc20_allowance(
        self, owner: Address, spender: Address, token: Address, amount: Number256
    ) -> None:
        """Set the allowance of a spender in a token that stores it in a slot of its own."""
        await self._edits.set_allowance(owner, spender, token, amount)


class HardhatTokens:
    """Tokens, with the results of Hardhat."""

    prefix = "hardhat"

    def __init__(self, edits: TokenEdits) -> None:
        self._edits = edits

    @method(TokenSlotNotFound, name="hardhat_dealERC20", served_by=ServedBy.PRODUCER)
    async def deal_erc20(self, account: Address, token: Address, amount: Number256) -> bool:
        """Set the balance of an account in a token that stores it in a slot of its own."""
        await self._edits.set_balance(account, token, amount)
        return True


def _word(address: Address) -> bytes:
    return bytes(12) + address
