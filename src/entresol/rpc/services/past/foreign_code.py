"""Code that is not the EVM's: calls of it get an error that names the account, in place of an empty result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from entresol.errors.fork import NotEvmCode

if TYPE_CHECKING:
    from entresol.rpc.services.block_resolver import BlockResolver
    from entresol.rpc.services.past.router import Function

_WORD: Final = 32
_STOP: Final = 0
_BATCH: Final = b'"l1BatchNumber"'

_METHODS: Final = {
    "eth_call": 1,
    "eth_estimateGas": 1,
    "eth_createAccessList": 1,
    "debug_traceCall": 1,
    "trace_call": 2,
}
"""Methods that call one contract, and which of their parameters is the block."""


def may_have_foreign_code(block: bytes) -> bool:
    """Say whether a chain may have EraVM code, by a block of it as JSON: only chains of the ZK Stack have batches."""
    return _BATCH in block


def is_era_code(code: bytes) -> bool:
    """Say whether code has the form of EraVM bytecode: an odd number of words, the first of which the EVM ends at."""
    return len(code) % (2 * _WORD) == _WORD and code[0] == _STOP


class ForeignCode:
    """Rejects calls of contracts that have EraVM code.

    Remembers: nothing. Assumes: that a method that raises `StateMissing` is called again. Fails: with `NotEvmCode`.
    """

    def __init__(self, resolver: BlockResolver) -> None:
        self._resolver = resolver

    def by_method(self) -> dict[str, Callable[[Function, Sequence[Any]], Any]]:
        """Return the checks by the names of methods."""
        return {name: partial(self._check, block_at) for name, block_at in _METHODS.items()}

    def _check(self, block_at: int, function: Function, arguments: Sequence[Any]) -> Any:
        """Call the function, unless what it calls is no EVM code."""
        called = arguments[0].to
        if called is not None:
            state = self._resolver.state(arguments[block_at])
            account = state.account(called)
            if account is not None and is_era_code(state.code(account.code_hash)):
                raise NotEvmCode(called)
        return function(*arguments)
