"""Turns of clients."""

from __future__ import annotations

from entresol.rpc.threads.turns import ClientLine, ClientTurns


def drain(turns: ClientTurns[str], seconds: float = 5.0) -> list[str]:
    """Take everything, one at a time, and return it in order."""
    taken = []
    while (following := turns.take()) is not None:
        line, item = following
        taken.append(item)
        turns.end(line, seconds)
    return taken


def test_a_client_that_comes_later_is_next() -> None:
    turns: ClientTurns[str] = ClientTurns(3)
    greedy, other = ClientLine[str](), ClientLine[str]()
    for number in range(500):
        turns.add(greedy, f"greedy {number}")
    taken = turns.take()
    assert taken == (greedy, "greedy 0")
    turns.end(greedy, 5.0)
    turns.add(other, "other")
    assert turns.take() == (other, "other")


def test_clients_take_turns() -> None:
    turns: ClientTurns[str] = ClientTurns(3)
    first, second = ClientLine[str](), ClientLine[str]()
    for number in range(3):
        turns.add(first, f"first {number}")
    for number in range(3):
        turns.add(second, f"second {number}")
    assert drain(turns) == ["first 0", "second 0", "first 1", "second 1", "first 2", "second 2"]


def test_a_client_never_has_all_threads() -> None:
    turns: ClientTurns[str] = ClientTurns(2)
    greedy, other = ClientLine[str](), ClientLine[str]()
    for _ in range(5):
        turns.add(greedy, "greedy")
    assert turns.take() is not None
    assert turns.take() is not None
    assert turns.take() is None
    turns.add(other, "other")
    assert turns.take() == (other, "other")
    turns.end(greedy, 1.0)
    assert turns.take() == (greedy, "greedy")


def test_a_client_with_short_calls_comes_before_one_with_long_calls() -> None:
    turns: ClientTurns[str] = ClientTurns(3)
    long, short = ClientLine[str](), ClientLine[str]()
    for line, name, seconds in ((long, "long", 5.0), (short, "short", 0.001)):
        turns.add(line, name)
        assert turns.take() == (line, name)
        turns.end(line, seconds)
    turns.add(long, "long")
    turns.add(short, "short")
    assert drain(turns) == ["short", "long"]


def test_time_without_work_is_not_saved_up() -> None:
    turns: ClientTurns[str] = ClientTurns(3)
    busy, idle = ClientLine[str](), ClientLine[str]()
    for _ in range(100):
        turns.add(busy, "busy")
    for _ in range(50):
        line, _ = turns.take() or (busy, "")
        turns.end(line, 1.0)
    for _ in range(10):
        turns.add(idle, "idle")
    assert drain(turns, 1.0)[:4].count("idle") == 2


def test_what_is_dropped_is_never_taken() -> None:
    turns: ClientTurns[str] = ClientTurns(3)
    line = ClientLine[str]()
    for item in ("a", "b", "c"):
        turns.add(line, item)
    assert turns.drop(line, lambda item: item != "b") == ["a", "c"]
    assert drain(turns) == ["b"]
    turns.add(line, "d")
    assert turns.drop(line, lambda _: True) == ["d"]
    assert turns.take() is None
