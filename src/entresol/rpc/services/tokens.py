"""The tokens of an L2: the base token, and those bridged from L1."""

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
"""The address of ether in token lists, on either layer."""


class Token(msgspec.Struct, frozen=True):
    """A token by its addresses on both layers."""

    l1_address: Address
    l2_address: Address
    contract: Address
    """The contract to query on L2."""


class BridgedTokens:
    """The tokens in one state, read from the native token vault.

    Assumes: the system contracts of an L2; a chain without them has no tokens.
    """

    def __init__(self, evm_env: EvmEnv) -> None:
        self._evm_env = evm_env

    def all(self) -> Iterator[Token]:
        """Yield the base token, then the bridged tokens in the order of their first deposit."""
        base = self._query(L2_NATIVE_TOKEN_VAULT, "BASE_TOKEN_ASSET_ID()", "(bytes32)")
        if base is None:
            return
        yield self._base(base)
        count = self._query(L2_NATIVE_TOKEN_VAULT, "bridgedTokensCount()", "(uint256)")
        for index in range(count or 0):
            asset = self._vault("bridgedTokens(uint256)", "(bytes32)", index)
            token = Address(self._vault("tokenAddress(bytes32)", "(address)", asset))
            yield Token(self._origin(asset), token, token)

    def name(self, token: Token) -> str:
        """Return the name of a token, which may be empty."""
        return self._query(token.contract, "name()", "(string)") or ""

    def symbol(self, token: Token) -> str:
        """Return the symbol of a token, which may be empty."""
        return self._query(token.contract, "symbol()", "(string)") or ""

    def decimals(self, token: Token) -> int:
        """Return the decimals of a token."""
        return self._query(token.contract, "decimals()", "(uint8)") or 0

    def balance(self, token: Token, owner: Address) -> int:
        """Return the balance of an account."""
        if token.contract == L2_BASE_TOKEN:
            account = self._evm_env.state.account(owner)
            return 0 if account is None else account.balance
        return self._query(token.contract, "balanceOf(address)", "(uint256)", owner) or 0

    def _base(self, asset: bytes) -> Token:
        origin = self._origin(asset)
        if origin == ETH_TOKEN:
            return Token(_ETHER, _ETHER, L2_BASE_TOKEN)
        return Token(origin, L2_BASE_TOKEN, L2_BASE_TOKEN)

    def _origin(self, asset: bytes) -> Address:
        return Address(self._vault("originToken(bytes32)", "(address)", asset))

    def _vault(self, signature: str, returns: str, *arguments: object) -> Any:
        """Call the vault; it must succeed."""
        data = abi.encode_call(signature, *arguments)
        request = CallRequest(to=L2_NATIVE_TOKEN_VAULT, data=data)
        return abi.decode(returns, call(self._evm_env, request))[0]

    def _query(self, contract: Address, signature: str, returns: str, *arguments: object) -> Any:
        """Call a contract that may not exist or may not have the function; None if it fails."""
        request = CallRequest(to=contract, data=abi.encode_call(signature, *arguments))
        try:
            return abi.decode(returns, call(self._evm_env, request))[0]
        except (ExecutionFailed, MalformedValue):
            return None
