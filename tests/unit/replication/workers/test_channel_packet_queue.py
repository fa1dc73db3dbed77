"""The order in which packets of a channel are served."""

from __future__ import annotations

from entresol.replication.workers.channel import Packet, PacketKind, PacketQueue


def queue_of(*packets: tuple[int, int]) -> PacketQueue:
    """Return a queue of calls, each by its client and its number."""
    queue = PacketQueue()
    for client, number in packets:
        queue.put(Packet(PacketKind.CALL, client, number, b"four"))
    return queue


def order(queue: PacketQueue) -> list[tuple[int, int]]:
    taken = []
    while queue:
        packet = queue.take()
        taken.append((packet.client, packet.number))
    return taken


def test_clients_take_turns_and_each_has_its_order() -> None:
    queue = queue_of((1, 1), (1, 2), (1, 3), (2, 4), (3, 5), (3, 6))
    assert order(queue) == [(1, 1), (2, 4), (3, 5), (1, 2), (3, 6), (1, 3)]
    assert queue.size == 0


def test_a_client_that_comes_back_waits_behind_the_others() -> None:
    queue = queue_of((1, 1), (1, 2), (2, 3))
    queue.take()
    queue.put(Packet(PacketKind.CALL, 1, 4, b""))
    assert order(queue) == [(2, 3), (1, 2), (1, 4)]


def test_a_dropped_call_leaves_nothing_behind() -> None:
    queue = queue_of((1, 1), (1, 2), (2, 3))
    queue.drop_call(2, 3)
    queue.drop_call(1, 1)
    queue.drop_call(9, 9)
    assert order(queue) == [(1, 2)]
    assert queue.size == 0


def test_a_call_and_the_response_to_one_of_the_same_number_are_two_packets() -> None:
    queue = queue_of((1, 1))
    queue.put(Packet(PacketKind.RESPONSE, 1, 1, b"response"))
    assert queue.size == 12
    queue.drop_call(1, 1)
    assert queue.take().payload == b"response"


def test_a_cleared_queue_is_empty() -> None:
    queue = queue_of((1, 1), (2, 2))
    queue.clear()
    assert not queue
    assert queue.size == 0
