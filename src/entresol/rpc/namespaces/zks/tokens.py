"""Tokens of an L2, and account balances."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from entresol.errors import ExecutionFailed, MalformedValue
from entresol.execution.calls import CallRequest, call
from entresol.offload import Offload
from entresol.primitives import abi
from entresol.primitives.base_token import ETH_TOKEN, L2_BASE_TOKEN, L2_NATIVE_TOKEN_VAULT
from entresol.primitives.values import Address, Quantity
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import LATEST
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.execution.evm_env import EvmEnv
    from entresol.rpc.services.block_resolver import BlockResolver


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


MAX_TOKENS: Final = 255


class TokenInfo(JsonModel, frozen=True, kw_only=True):
    """A token that can be bridged; its addresses are zero if it is ether."""

    l1_address: Annotated[Address, says("The token on L1.")]
    l2_address: Annotated[Address, says("The token on L2.")]
    name: Annotated[str, says("The name of the token.")]
    symbol: Annotated[str, says("The short name of the token.")]
    decimals: Annotated[int, says("How many digits of an amount are behind the point.")]


class ZksTokens:
    """`zks_` methods about tokens."""

    prefix = "zks"

    def __init__(self, resolver: BlockResolver) -> None:
        self._resolver = resolver

    @method(served_by=ServedBy.BLOCK)
    def get_confirmed_tokens(self, from_: Number, limit: Number) -> Offload[list[TokenInfo]]:
        """Return the well-known tokens, which is the base token only.

        `from` is how many to skip, and `limit` how many to return, at most 255. Tokens that were bridged
        by others are in `zks_getAllAccountBalances`.
        """
        if limit > MAX_TOKENS:
            raise MalformedValue(f"at most {MAX_TOKENS}, got {int(limit)}", field="limit")
        tokens = BridgedTokens(self._resolver.evm_env(LATEST))
        wanted = 0 if from_ else min(int(limit), 1)
        return Offload(
            lambda: [
                TokenInfo(
                    l1_address=token.l1_address,
                    l2_address=token.l2_address,
                    name=tokens.name(token),
                    symbol=tokens.symbol(token),
                    decimals=tokens.decimals(token),
                )
                for token in islice(tokens.all(), wanted)
            ]
        )

    @method(served_by=ServedBy.BLOCK)
    def get_all_account_balances(self, address: Address) -> Offload[dict[str, Quantity]]:
        """Return the balances of an account by the token's address on L2.

        The zero address stands for ether. Zero balances are left out.
        """
        tokens = BridgedTokens(self._resolver.evm_env(LATEST))

        def balances() -> dict[str, Quantity]:
            found = (
                (token, tokens.balance(token, address)) for token in cooperatively(tokens.all())
            )
            return {str(token.l2_address): Quantity(amount) for token, amount in found if amount}

        return Offload(balances)
