"""Tokens of an L2, and account balances."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

from entresol.errors import MalformedValue
from entresol.offload import Offload
from entresol.primitives.values import Address, Quantity
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.services.tokens import BridgedTokens
from entresol.rpc.types.block_id import LATEST
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.rpc.services.block_resolver import BlockResolver

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
