"""The bounded queue of work towards L1 and other chains."""

from __future__ import annotations

import pytest

from entresol.rollup.step_loop import Backoff
from entresol.rollup.work_queue import MAX_DELAY, MAX_TRIES, WorkQueue

Queue = WorkQueue[str, str]


def queue_of(*names: str, limit: int = 1_000) -> Queue:
    """Return a queue of items that are their own keys."""
    queue = Queue(limit=limit, backoff=Backoff(10.0, 40.0))
    for name in names:
        queue.add(name, name, 0.0)
    return queue


def due(queue: Queue, now: float = 0.0) -> str:
    """Return the items that may be tried, in their order."""
    return " ".join(item for _, item in queue.due(now))


def test_items_are_due_in_the_order_in_which_they_came() -> None:
    assert due(queue_of("a", "b", "c")) == "a b c"


def test_what_failed_is_tried_for_ever_after_pauses_that_double() -> None:
    queue, now, given_up = queue_of("a"), 0.0, []
    for pause in (10.0, 20.0, 40.0, 40.0, 40.0, 40.0):
        given_up.append(queue.failed("a", "no", now))
        assert queue.next_due(now) == now + pause
        assert due(queue, now + pause - 1) == ""
        now += pause
        assert due(queue, now) == "a"
    assert given_up == [tries == MAX_TRIES for tries in range(1, 7)]
    assert (queue.skipped, queue.reason("a"), queue.failing) == (1, "no", ["a"])


def test_what_was_never_tried_goes_first_and_then_what_was_tried_longest_ago() -> None:
    queue = queue_of("a", "b", "c")
    for name in "bab":
        queue.failed(name, "no", 0.0)
    assert due(queue, 100.0) == "c a b"


def test_one_of_each_source_and_of_each_of_its_senders_is_tried_in_turn() -> None:
    queue = Queue()
    for number in range(3):
        for sender in "xy":
            queue.add(f"{sender}{number}", f"{sender}{number}", 0.0, source=1, sender=sender)
    queue.add("z0", "z0", 0.0, source=1, sender="z")
    for number in range(2):
        queue.add(f"other{number}", f"other{number}", 0.0, source=2, sender="o")
    assert due(queue) == "x0 other0 y0 other1 z0 x1 y1 x2 y2"


def test_a_source_that_has_no_room_takes_none_from_another() -> None:
    queue = Queue(limit=2)
    for name in "ab":
        queue.add(name, name, 0.0, source=1)
    assert (queue.room(1), queue.room(2)) == (0, 2)
    queue.remove_if(lambda item: item == "a")
    assert (queue.room(1), "a" in queue, queue.get("b")) == (1, False, "b")


def test_what_is_taken_is_not_due_and_nothing_waits_for_it() -> None:
    queue = queue_of("a")
    queue.failed("a", "no", 0.0)
    queue.take("a")
    assert (due(queue, 100.0), queue.next_due(0.0)) == ("", None)
    queue.retry("a")
    assert due(queue) == "a"


def test_what_could_be_tried_already_waits_for_no_time() -> None:
    queue = queue_of("a")
    queue.failed("a", "no", 0.0)
    assert queue.next_due(20.0) is None


def test_a_change_lets_some_be_tried_at_once_those_that_were_tried_longest_ago() -> None:
    queue = queue_of("a", "b", "c")
    for name in "bca":
        queue.failed(name, "no", 0.0)
    queue.retry_some(2)
    assert due(queue) == "b c"


def test_what_has_failed_leaves_if_there_is_no_room_and_is_taken_again_after_its_pause() -> None:
    queue = queue_of("a", "b", "c", limit=3)
    for name in "abb":
        queue.failed(name, "no", 0.0)
    queue.make_room(1, 0.0)
    assert ["a" in queue, "b" in queue, "c" in queue] == [True, False, True]
    assert (queue.skipped, queue.reason("b")) == (1, "no")
    queue.make_room(1, 0.0)
    assert len(queue) == 2, "there was room"
    queue.add("b", "b", 19.0)
    assert "b" not in queue
    assert (queue.to_look_back(MAX_DELAY - 1), queue.to_look_back(MAX_DELAY)) == ([], [None])
    queue.add("b", "b", 20.0)
    queue.failed("b", "no", 20.0)
    assert due(queue, 59.0) == "c a"
    assert due(queue, 60.0) == "c a b"


@pytest.mark.parametrize("taken", [False, True])
def test_what_was_never_tried_and_what_is_taken_make_no_room(taken: bool) -> None:
    queue = queue_of("a", limit=1)
    if taken:
        queue.failed("a", "no", 0.0)
        queue.take("a")
    queue.make_room(1, 0.0)
    assert queue.room() == 0
