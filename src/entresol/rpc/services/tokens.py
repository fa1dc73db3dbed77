"""The tokens that a layer 2 knows: the one that fees are paid in, and those that came from L1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entresol.errors import ExecutionFailed, MalformedValue
from entresol.execution.call.call import CallRequest, call
from entresol.primitives import abi
from entresol.primitives.assets import ETH_TOKEN, L2_BASE_TOKEN, L2_NATIVE_TOKEN_VAULT
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.execution.evm_env import EvmEnv

_ETHER = Address.zero()
"""What clients take for ether in lists of tokens, on either layer."""


class Token(msgspec.Struct, frozen=True):
    """A token by its addresses on both layers."""

    l1_address: Address
    l2_address: Address
    contract: Address
    """Who answers for it on L2."""


class BridgedTokens:
    """The tokens as they stand in one state, asked of the contracts that keep them.

    Assumes: the system contracts of a layer 2; a chain without them has no tokens.
    """

    def __init__(self, evm_env: EvmEnv) -> None:
        self._evm_env = evm_env

    def all(self) -> Iterator[Token]:
        """Yield the base token, and then the tokens of other chains in the order they came."""
        base = self._ask(L2_NATIVE_TOKEN_VAULT, "BASE_TOKEN_ASSET_ID()", "(bytes32)")
        if base is None:
            return
        yield self._base(base)
        count = self._ask(L2_NATIVE_TOKEN_VAULT, "bridgedTokensCount()", "(uint256)")
        for index in range(count or 0):
            asset = self._vault("bridgedTokens(uint256)", "(bytes32)", index)
            token = Address(self._vault("tokenAddress(bytes32)", "(address)", asset))
            yield Token(self._origin(asset), token, token)

    def name(self, token: Token) -> str:
        """Return the name of a token, which may be empty."""
        return self._ask(token.contract, "name()", "(string)") or ""

    def symbol(self, token: Token) -> str:
        """Return the symbol of a token, which may be empty."""
        return self._ask(token.contract, "symbol()", "(string)") or ""

    def decimals(self, token: Token) -> int:
        """Return by how many digits amounts of a token are shifted."""
        return self._ask(token.contract, "decimals()", "(uint8)") or 0

    def balance(self, token: Token, owner: Address) -> int:
        """Return how much of a token an account has."""
        if token.contract == L2_BASE_TOKEN:
            account = self._evm_env.state.account(owner)
            return 0 if account is None else account.balance
        return self._ask(token.contract, "balanceOf(address)", "(uint256)", owner) or 0

    def _base(self, asset: bytes) -> Token:
        origin = self._origin(asset)
        if origin == ETH_TOKEN:
            return Token(_ETHER, _ETHER, L2_BASE_TOKEN)
        return Token(origin, L2_BASE_TOKEN, L2_BASE_TOKEN)

    def _origin(self, asset: bytes) -> Address:
        return Address(self._vault("originToken(bytes32)", "(address)", asset))

    def _vault(self, signature: str, answer: str, *arguments: object) -> Any:
        """Ask the vault for what it must know."""
        data = abi.encode_call(signature, *arguments)
        request = CallRequest(to=L2_NATIVE_TOKEN_VAULT, data=data)
        return abi.decode(answer, call(self._evm_env, request))[0]

    def _ask(self, contract: Address, signature: str, answer: str, *arguments: object) -> Any:
        """Ask a contract for what it may not know, or may not even be there to answer."""
        request = CallRequest(to=contract, data=abi.encode_call(signature, *arguments))
        try:
            return abi.decode(answer, call(self._evm_env, request))[0]
        except (ExecutionFailed, MalformedValue):
            return None
