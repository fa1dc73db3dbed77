"""Ask contracts that may be tokens what they say of themselves: each call and each answer is bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from unicodedata import category

import msgspec

from entresol.errors import DeadlinePassed, ExecutionFailed, MalformedValue
from entresol.execution.calls import CallRequest, call
from entresol.execution.limits import CallLimits
from entresol.primitives import abi
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.execution.evm_env import EvmEnv

LIMITS: Final = CallLimits(gas_cap=200_000, seconds=0.5)
"""The limits of one answer of a contract. Memory costs gas, so no answer is longer than 300 kB."""
MAX_TEXT: Final = 64
"""How many characters of a name or symbol are shown."""
MAX_DECIMALS: Final = 77
"""The decimal digits of 256 bits."""

_WORD: Final = 32
_JOINER: Final = "\u200d"
_OF_EMOJI: Final = frozenset({"So", "Sk", "Mn"})
"""The categories of what may be joined: a picture, its colour, or how it is drawn."""


class TokenAnswers(msgspec.Struct, frozen=True):
    """A token as its contract describes it; None where it says nothing."""

    name: str | None
    symbol: str | None
    decimals: int | None
    supply: int | None


class TokenCalls:
    """Calls contracts in one state. A call that fails, takes too long, or whose result is not of its type has no answer."""

    def __init__(self, evm_env: EvmEnv) -> None:
        self._evm_env = evm_env

    def info(self, token: Address) -> TokenAnswers:
        """Return what a token says of itself."""
        decimals = self._number(token, "decimals()")
        return TokenAnswers(
            self._text(token, "name()"),
            self._text(token, "symbol()"),
            decimals if decimals is not None and decimals <= MAX_DECIMALS else None,
            self._number(token, "totalSupply()"),
        )

    def balance(self, token: Address, holder: Address) -> int | None:
        """Return the balance of an account: an amount of an ERC-20, how many items of an ERC-721."""
        return self._number(token, "balanceOf(address)", holder)

    def _number(self, token: Address, signature: str, *arguments: Any) -> int | None:
        output = self._call(token, signature, *arguments)
        return None if len(output) < _WORD else int.from_bytes(output[:_WORD])

    def _text(self, token: Address, signature: str) -> str | None:
        """Return a string, or the bytes32 that old tokens have instead."""
        output = self._call(token, signature)
        if not output:
            return None
        try:
            data = output if len(output) == _WORD else abi.decode("(bytes)", output)[0]
        except MalformedValue:
            return None
        text = bytes(data[: 4 * MAX_TEXT]).rstrip(b"\0").decode(errors="replace")
        return _printable(text)[:MAX_TEXT]

    def _call(self, token: Address, signature: str, *arguments: Any) -> bytes:
        request = CallRequest(to=token, data=abi.encode_call(signature, *arguments))
        try:
            return call(self._evm_env, request, LIMITS)
        except (ExecutionFailed, DeadlinePassed):
            return b""


def _printable(text: str) -> str:
    """Return a text without what hides, or turns the direction of what follows; a joiner stays between two emoji."""
    return "".join(
        letter
        for before, letter, after in zip("\0" + text, text, text[1:] + "\0", strict=False)
        if letter.isprintable()
        or (letter == _JOINER and category(before) in _OF_EMOJI and category(after) == "So")
    )
