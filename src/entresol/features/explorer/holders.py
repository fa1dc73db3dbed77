"""The holders of a token with their balances, those with most first as long as they can all be asked."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import MalformedValue
from entresol.features.explorer.token_calls import TokenCalls
from entresol.features.explorer.token_transfers import TokenStandard
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.state_missing import work_clock

if TYPE_CHECKING:
    from entresol.execution.evm_env import EvmEnv, State
    from entresol.features.explorer.account_index import IndexedAccounts, ReceivedToken

MAX_SORTED: Final = 10_000
"""How many accounts are asked for their balances, to sort them."""
MAX_SORTED_ON_FORK: Final = 200
"""So, too, on a fork, where each of them may be a request to the remote."""
MAX_SECONDS: Final = 2.0
"""How long they are asked; a token that takes longer has its holders in the order of their addresses."""
CACHED_LISTS: Final = 8
"""Lists that are remembered: pages of one list would ask all holders again."""

_OFFSET: Final = 4


class HolderBalance(NamedTuple):
    """An account with its balance; None if the token does not say it."""

    address: Address
    balance: int | None


class HolderPage(NamedTuple):
    """Some holders, how many there are if that is known, whether they are sorted, and where the next begin."""

    holders: list[HolderBalance]
    total: int | None
    is_sorted: bool
    following: bytes | None


class _SortedHolders(NamedTuple):
    """The holders in a state, most first; None if they are too many."""

    state: State
    holders: list[HolderBalance] | None


class HolderLists:
    """Asks a token for the balances of all who have ever received it; what its logs say of amounts counts nothing.

    Remembers: the last sorted lists, each of one state. Any thread may use it. Fails: with a `MalformedValue` if a
    cursor is none.
    """

    def __init__(
        self,
        index: IndexedAccounts,
        *,
        is_fork: bool,
        max_sorted: int | None = None,
        max_seconds: float = MAX_SECONDS,
    ) -> None:
        self._index = index
        default = MAX_SORTED_ON_FORK if is_fork else MAX_SORTED
        self._max_sorted = default if max_sorted is None else max_sorted
        self._max_seconds = max_seconds
        self._sorted: BoundedMap[tuple[Address, Hash32], _SortedHolders] = BoundedMap(CACHED_LISTS)
        self._lock = Lock()

    def page(
        self,
        token: Address,
        evm_env: EvmEnv,
        head: int,
        head_hash: Hash32,
        cursor: bytes | None,
        size: int,
    ) -> HolderPage:
        """Return a page of the holders in the state of the head."""
        listed = self._list(token, evm_env, head, head_hash)
        if listed is None:
            return self._unsorted(token, evm_env, head, cursor, size)
        if cursor is not None and len(cursor) != _OFFSET:
            raise MalformedValue("it is of a list that is not sorted: begin again", field="cursor")
        start = int.from_bytes(cursor or b"")
        end = start + size
        following = end.to_bytes(_OFFSET) if end < len(listed) else None
        return HolderPage(listed[start:end], len(listed), is_sorted=True, following=following)

    def _list(
        self, token: Address, evm_env: EvmEnv, head: int, head_hash: Hash32
    ) -> list[HolderBalance] | None:
        key = token, head_hash
        with self._lock:
            known = self._sorted.touch(key)
        # Edits by hand change the state of the head, which is another object then.
        if known is not None and known.state is evm_env.state:
            return known.holders
        listed = self._sort(token, evm_env, head)
        with self._lock:
            self._sorted.put(key, _SortedHolders(evm_env.state, listed))
        return listed

    def _sort(self, token: Address, evm_env: EvmEnv, head: int) -> list[HolderBalance] | None:
        holdings = self._index.holders(token, b"", self._max_sorted + 1, head)
        if len(holdings) > self._max_sorted:
            return None
        calls, end = TokenCalls(evm_env), work_clock() + self._max_seconds
        found: list[HolderBalance] = []
        for holding in cooperatively(holdings):
            if work_clock() > end:
                return None
            found.append(_holder(calls, holding))
        present = [holder for holder in found if holder.balance != 0]
        return sorted(present, key=lambda holder: (-(holder.balance or 0), holder.address))

    def _unsorted(
        self, token: Address, evm_env: EvmEnv, head: int, cursor: bytes | None, size: int
    ) -> HolderPage:
        if cursor is not None and len(cursor) != len(token):
            raise MalformedValue("it is of a list that is sorted: begin again", field="cursor")
        holdings = self._index.holders(token, cursor or b"", size + 1, head)
        calls, end = TokenCalls(evm_env), work_clock() + self._max_seconds
        found: list[HolderBalance] = []
        for holding in cooperatively(holdings[:size]):
            if found and work_clock() > end:
                break
            found.append(_holder(calls, holding))
        read = len(found)
        following = holdings[read - 1].holder if len(holdings) > read else None
        present = [holder for holder in found if holder.balance != 0]
        return HolderPage(present, None, is_sorted=False, following=following)


def _holder(calls: TokenCalls, received: ReceivedToken) -> HolderBalance:
    holder = Address(received.holder)
    has_sum = received.standard is not TokenStandard.ERC1155
    return HolderBalance(
        holder, calls.balance(Address(received.token), holder) if has_sum else None
    )
