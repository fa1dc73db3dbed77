"""Those who want to know that something has happened."""

from __future__ import annotations

from entresol.listeners import Listeners


def test_all_listeners_are_called_in_their_order() -> None:
    listeners: Listeners[[]] = Listeners()
    heard: list[str] = []
    listeners.notify()
    listeners.add(lambda: heard.append("first"))
    listeners.add(lambda: heard.append("second"))
    listeners.notify()
    assert heard == ["first", "second"]


def test_a_listener_that_is_added_meanwhile_is_called_the_next_time() -> None:
    listeners: Listeners[[]] = Listeners()
    heard: list[str] = []
    listeners.add(lambda: listeners.add(lambda: heard.append("late")))
    listeners.notify()
    assert heard == []
    listeners.notify()
    assert heard == ["late"]
