"""State edits: balances, nonces, code and storage, without a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import ControlRejected, MalformedValue, TransactionRuleBroken
from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.method import Order, method
from entresol.rpc.types.number import Number, Number256, UnprefixedData

if TYPE_CHECKING:
    from entresol.chain.chain import Chain

MAX_CODE_BYTES: Final = 2 * 1024 * 1024
"""How long code set by hand may be: as long as a factory dependency, 85 times what a transaction deploys."""

_MAX_WEI: Final = 2**256 - 1


class BalanceEdits:
    """Edits of balances; `tenderly_` has no others."""

    def __init__(self, prefix: str, chain: Chain) -> None:
        self.prefix = prefix
        self._chain = chain

    @method()
    def set_balance(self, address: Address, balance: Number256) -> None:
        """Set the balance of an account."""
        self._chain.edit(address, lambda state: state.set_balance(address, int(balance)))

    @method()
    def add_balance(self, address: Address, amount: Number256) -> None:
        """Add to the balance of an account; the sum is at most 2^256 - 1."""
        account = self._chain.latest.account(address)
        balance = min((0 if account is None else account.balance) + int(amount), _MAX_WEI)
        self._chain.edit(address, lambda state: state.set_balance(address, balance))


class StateEdits(BalanceEdits):
    """Edits of accounts and their storage."""

    @method(ControlRejected)
    def set_nonce(self, address: Address, nonce: Number) -> None:
        """Set the nonce of an account; that of the sender of system transactions makes their hashes unique."""
        if address == self._chain.pool.rules.reserved_sender:
            raise TransactionRuleBroken("system sender", address)
        self._chain.edit(address, lambda state: state.set_nonce(address, int(nonce)))

    @method(order=Order.IN_TURN)
    def set_code(self, address: Address, code: UnprefixedData) -> None:
        """Set the code of an account, of at most 2 MiB."""
        if len(code) > MAX_CODE_BYTES:
            problem = f"code has at most {MAX_CODE_BYTES} bytes, got {len(code)}"
            raise MalformedValue(problem, field="code")
        self._chain.edit(address, lambda state: state.set_code(address, bytes(code)))

    @method()
    def set_storage_at(self, address: Address, slot: Number256, value: Hash32) -> bool:
        """Set a storage slot of an account to a value of 32 bytes."""
        key = slot.to_bytes(32)
        self._chain.edit(address, lambda state: state.set_slot(address, key, value))
        return True


class HardhatStateEdits(StateEdits):
    """Edits with the rules of Hardhat."""

    acknowledges = True

    def __init__(self, chain: Chain) -> None:
        super().__init__("hardhat", chain)

    @method(ControlRejected)
    def set_nonce(self, address: Address, nonce: Number) -> None:
        """Set the nonce of an account: not below the current one, and only while the pool is empty."""
        if len(self._chain.pool):
            raise ControlRejected("Cannot set account nonce when the transaction pool is not empty")
        account = self._chain.latest.account(address)
        current = 0 if account is None else account.nonce
        if nonce < current:
            raise ControlRejected(
                f"New nonce ({nonce:d}) must not be smaller than the existing nonce ({current})"
            )
        super().set_nonce(address, nonce)


class AccountEdits:
    """The edits of `evm_`, by the names that Ganache gave them."""

    prefix = "evm"

    def __init__(self, chain: Chain) -> None:
        self._edits = StateEdits(self.prefix, chain)

    @method(ControlRejected)
    def set_account_nonce(self, address: Address, nonce: Number) -> None:
        """Set the nonce of an account."""
        self._edits.set_nonce(address, nonce)

    @method()
    def set_account_balance(self, address: Address, balance: Number256) -> None:
        """Set the balance of an account."""
        self._edits.set_balance(address, balance)

    @method(order=Order.IN_TURN)
    def set_account_code(self, address: Address, code: UnprefixedData) -> None:
        """Set the code of an account, of at most 2 MiB."""
        self._edits.set_code(address, code)
