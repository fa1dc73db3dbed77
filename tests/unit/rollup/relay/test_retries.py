"""The bounded queue of what a relay tries."""

from __future__ import annotations

from entresol.rollup.relay.retries import FIRST_DELAY, MAX_TRIES, RetryQueue


class Time:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def test_items_are_due_in_the_order_in_which_they_came() -> None:
    queue: RetryQueue[str] = RetryQueue(Time())
    for name in "abc":
        queue.add(name, name)
    assert [item for _, item in queue.due()] == ["a", "b", "c"]


def test_what_failed_waits_twice_as_long_each_time_and_is_given_up() -> None:
    time = Time()
    queue: RetryQueue[str] = RetryQueue(time)
    queue.add("a", "a")
    waited = []
    for _ in range(MAX_TRIES - 1):
        assert not queue.failed("a")
        assert list(queue.due()) == []
        delay = queue.next_due()
        assert delay is not None
        waited.append(delay)
        time.now += delay
        assert list(queue.due()) == [("a", "a")]
    assert waited == [FIRST_DELAY * factor for factor in (1, 2, 4, 8)]
    assert queue.failed("a")
    assert (len(queue), queue.skipped, queue.next_due()) == (0, 1, None)


def test_what_was_never_tried_is_tried_first() -> None:
    time = Time()
    queue: RetryQueue[str] = RetryQueue(time)
    queue.add("a", "a")
    queue.failed("a")
    time.now += 100
    queue.add("b", "b")
    assert [item for _, item in queue.due()] == ["b", "a"]


def test_one_of_each_group_is_tried_in_turn() -> None:
    queue: RetryQueue[str] = RetryQueue(Time())
    for number in range(3):
        queue.add(f"spam{number}", f"spam{number}", "spammer")
    queue.add("honest", "honest", "alice")
    assert [item for _, item in queue.due()] == ["spam0", "honest", "spam1", "spam2"]


def test_it_has_room_for_so_many() -> None:
    queue: RetryQueue[str] = RetryQueue(Time(), limit=2)
    queue.add("a", "a")
    queue.add("b", "b")
    assert queue.room == 0
    queue.remove_if(lambda item: item == "a")
    assert (queue.room, "a" in queue, queue.get("b")) == (1, False, "b")


def test_what_has_failed_makes_room_for_what_comes_later_if_it_is_full() -> None:
    queue: RetryQueue[str] = RetryQueue(Time(), limit=3)
    for name in "abc":
        queue.add(name, name)
    queue.failed("a")
    queue.failed("b")
    queue.failed("b")
    assert queue.make_room(1) == ["b"]
    assert [it in queue for it in "abc"] == [True, False, True]
    assert (queue.room, queue.skipped) == (1, 1)
    assert queue.make_room(1) == [], "there was room"


def test_what_was_never_tried_makes_no_room() -> None:
    queue: RetryQueue[str] = RetryQueue(Time(), limit=1)
    queue.add("a", "a")
    queue.make_room(1)
    assert queue.room == 0
