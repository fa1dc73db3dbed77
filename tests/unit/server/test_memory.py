"""The memory of long requests has one limit, and nobody keeps it by a cycle of references."""

from __future__ import annotations

import gc

from entresol.server import memory as module
from entresol.server.memory import LONG_BYTES, HeldBytes, RequestBytes

LIMIT = 10 * LONG_BYTES


class Holder:
    """What holds the bytes of a request, and itself."""

    def __init__(self, held: HeldBytes) -> None:
        self.held = held
        self.itself = self


def test_bytes_count_until_nothing_refers_to_them() -> None:
    requests = RequestBytes(LIMIT)
    held = requests.hold(LONG_BYTES)
    assert held is not None
    assert held.grow(LONG_BYTES)
    assert requests.used == 2 * LONG_BYTES
    del held
    assert requests.used == 0


def test_a_request_without_room_is_rejected_and_counts_for_nothing() -> None:
    requests = RequestBytes(LIMIT)
    first = requests.hold(LIMIT)
    assert requests.hold(1) is None
    assert (requests.used, requests.rejected) == (LIMIT, 1)
    del first
    assert requests.hold(1) is not None


def test_what_a_cycle_holds_is_collected_before_a_request_is_rejected() -> None:
    requests = RequestBytes(LIMIT)
    gc.disable()
    try:
        held = requests.hold(LIMIT)
        assert held is not None
        Holder(held)
        del held
        assert requests.used == LIMIT
        assert requests.hold(LIMIT) is not None
    finally:
        gc.enable()
    assert requests.rejected == 0


def test_garbage_is_collected_after_so_many_bytes_however_few_objects_they_are() -> None:
    requests = RequestBytes(2 * module.COLLECT_BYTES)
    gc.disable()
    try:
        held = requests.hold(module.COLLECT_BYTES)
        assert held is not None
        Holder(held)
        del held
        assert requests.uncollected == module.COLLECT_BYTES
        assert requests.hold(1) is not None
    finally:
        gc.enable()
    assert (requests.used, requests.uncollected) == (0, 0)
