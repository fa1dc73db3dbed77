"""The limits of published data, what of it the node uses itself, and the gas limit that follows from the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.primitives.interop_roots import MAX_ROOTS_PER_BATCH, MAX_ROOTS_PER_IMPORT, import_size
from entresol.primitives.l1_to_l2_gas import max_room
from entresol.primitives.transactions.priority import MAX_PRIORITY_TRANSACTIONS
from entresol.primitives.transactions.system import import_gas

if TYPE_CHECKING:
    from entresol.primitives.transactions import PriorityTransaction


MAX_PUBLISHED_BYTES: Final = 126_976
"""The most that one batch publishes as calldata: nodes of L1 take no transaction above 128 KiB."""
MAX_BODY_BYTES: Final = 126_464
"""The most that a body of this node takes before it is compressed.

So it fits whatever it compresses to: by zstd's bound 126,464 bytes become 126,960 at most, beside the version.
"""
MAX_DECODED_BYTES: Final = 8 * 1024 * 1024
"""The most that a reader accepts of a body, or of a genesis."""
MAX_RATIO: Final = 256
"""How many times its frame a body, or a genesis, is at most."""

MAX_GENESIS_BYTES: Final = 1024 * 1024
"""The most that a genesis publishes; a larger one is given as a file, and only its hash is on L1."""
MAX_GENESIS_PART: Final = 100_000
"""The most that one transaction publishes of it: nodes of L1 take none above 128 KiB."""

MAX_BLOCK_GAS: Final = 2**30
"""The gas limit of a block, so that whoever executes what others have published comes to an end."""
MAX_SET_GAS: Final = 1_000_000_000
"""The highest gas limit that an operator may set: the rest is room for the roots and the first deposit of a block."""

MAX_NUMBER: Final = 2**53 - 1
"""The highest number of a batch, and of its first block: clients read them as doubles."""
MAX_BLOCKS: Final = 1_024
"""The blocks of a batch."""
MAX_TRANSACTIONS: Final = 65_535
"""The transactions of a batch, with deposits and imports of roots."""
MAX_DEPOSITS: Final = MAX_PRIORITY_TRANSACTIONS
"""The deposits of a batch, and so of a block."""
MAX_BLOCK_ROOTS: Final = MAX_ROOTS_PER_IMPORT
MAX_ROOTS: Final = MAX_ROOTS_PER_BATCH
"""The roots that the blocks of a batch import."""


def roots_gas(count: int) -> int:
    """Return the gas limit of the transaction that imports so many roots; 0 without any."""
    return import_gas(import_size(count)) if count else 0


def gas_limit_with_room(gas_limit: int, roots: int, first: PriorityTransaction | None) -> int:
    """Return the gas limit of a block that begins with the import of so many roots and with this deposit.

    It covers both, if that is possible. L1 accepts the overhead of a request on top of the gas of a block, and may have
    accepted more before. What no L1 accepts does not fit, and is included as failed.
    """
    needed = roots_gas(roots)
    if first is not None:
        needed += min(first.gas_limit, max_room(first, gas_limit))
    return max(gas_limit, needed)
