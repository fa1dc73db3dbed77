"""The tokens of a layer 2, and what an account has of them."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Final

from entresol.errors import MalformedValue
from entresol.primitives.values import Address, Quantity
from entresol.rpc.block_ref import LATEST
from entresol.rpc.bridged_tokens import BridgedTokens
from entresol.rpc.method import Later, method
from entresol.rpc.numbers import Number
from entresol.rpc.wire import Wire

if TYPE_CHECKING:
    from entresol.rpc.places import Places

MOST_AT_ONCE: Final = 255


class TokenInfo(Wire, frozen=True, kw_only=True):
    """A token that can be moved between the layers; its addresses are zero if it is ether."""

    l1_address: Address
    l2_address: Address
    name: str
    symbol: str
    decimals: int


class ZksTokens:
    """Tokens of both layers."""

    prefix = "zks"

    def __init__(self, places: Places) -> None:
        self._places = places

    @method()
    def get_confirmed_tokens(self, from_: Number, limit: Number) -> Later[list[TokenInfo]]:
        """Return tokens that came from L1, the base token first and then in the order they came.

        `from` is how many to leave out, and `limit` how many to return, at most 255.
        """
        if limit > MOST_AT_ONCE:
            raise MalformedValue(f"at most {MOST_AT_ONCE}, got {int(limit)}", field="limit")
        tokens = BridgedTokens(self._places.scene(LATEST))
        # No chain has more tokens than a machine can count.
        first = min(int(from_), sys.maxsize - MOST_AT_ONCE)
        return Later(
            lambda: [
                TokenInfo(
                    l1_address=token.l1_address,
                    l2_address=token.l2_address,
                    name=tokens.name(token),
                    symbol=tokens.symbol(token),
                    decimals=tokens.decimals(token),
                )
                for token in islice(tokens.all(), first, first + int(limit))
            ]
        )

    @method()
    def get_all_account_balances(self, address: Address) -> Later[dict[str, Quantity]]:
        """Return what an account has of each token, by the token's address on L2.

        The zero address stands for ether. Tokens of which it has nothing are left out.
        """
        tokens = BridgedTokens(self._places.scene(LATEST))

        def answer() -> dict[str, Quantity]:
            balances = ((token, tokens.balance(token, address)) for token in tokens.all())
            return {str(token.l2_address): Quantity(wei) for token, wei in balances if wei}

        return Later(answer)
