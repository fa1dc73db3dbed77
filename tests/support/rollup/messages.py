"""The logs of messages from L2 to L1, as the L1 messenger emits them."""

from __future__ import annotations

from entresol._native import keccak256
from entresol.primitives.l2_to_l1_logs import L1_MESSENGER, L2ToL1Log
from entresol.primitives.values import Address, Hash32


def message_log(tx_number: int, sender: Address, message: bytes) -> L2ToL1Log:
    """Return the log of a message that `sender` sent through the L1 messenger."""
    key, value = Hash32(sender.rjust(32, b"\0")), Hash32(keccak256(message))
    return L2ToL1Log(tx_number=tx_number, sender=L1_MESSENGER, key=key, value=value)
