from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

from entresol.contracts.abi_registry import AbiRegistry
from entresol.errors import UnknownBlock
from entresol.execution.tracing import SealedBlock
from entresol.primitives.values import Address, Hash32
from entresol.terminal.formats import TransactionIncluded
from entresol.terminal.log_details import LogDetails
from entresol.terminal.traces import LoggedBlock, TraceLog

if TYPE_CHECKING:
    from entresol.chain.ledger import Ledger

DETAILS = LogDetails(AbiRegistry())


def entry(number: int) -> TransactionIncluded:
    return TransactionIncluded(
        hash=Hash32(number.to_bytes(32)),
        sender=Address.zero(),
        to=None,
        created=None,
        gas_used=1,
        block=number,
        block_hash=Hash32.zero(),
        timestamp=1,
        succeeded=True,
        failure=None,
    )


def block(number: int) -> LoggedBlock:
    return LoggedBlock(number, [entry(number)], frozenset({0}), [0])


class Blocked:
    """Finds no block, and that only once it is released."""

    def __init__(self) -> None:
        self.release = threading.Event()

    def sealed_block(self, number: int) -> SealedBlock:
        self.release.wait()
        raise UnknownBlock(number)


def test_blocks_that_cannot_be_traced_are_written_in_order() -> None:
    written: list[int] = []
    source = Blocked()
    log = TraceLog(cast("Ledger", source), DETAILS, lambda included: written.append(included.block))
    for number in range(1, 5):
        log.add(block(number))
    assert not log.is_idle
    source.release.set()
    log.close()
    assert written == [1, 2, 3, 4]
