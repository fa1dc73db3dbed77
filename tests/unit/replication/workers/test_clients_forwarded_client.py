"""Clients of a worker whose requests it forwards."""

from __future__ import annotations

from functools import partial

from entresol.replication.workers.clients import ForwardedClients


def test_a_client_is_the_same_until_its_end() -> None:
    clients = ForwardedClients()
    first = clients.get(7)
    assert clients.get(7) is first
    assert clients.get(8) is not first
    clients.close(7)
    assert clients.get(7) is not first


def test_a_client_has_the_address_from_which_it_has_reached_its_worker() -> None:
    clients = ForwardedClients()
    clients.begin(7, "10.0.0.1:5")
    first = clients.get(7)
    clients.begin(7, "10.0.0.1:5")
    assert clients.get(7) is first
    assert first.peer == "10.0.0.1:5"


def test_the_end_of_a_client_is_reported_once() -> None:
    clients, ended = ForwardedClients(), []
    client = clients.get(7)
    client.on_close(lambda: ended.append("before"))
    clients.close(7)
    clients.close(7)
    client.on_close(lambda: ended.append("after"))
    assert client.closed
    assert ended == ["before", "after"]


def test_all_clients_end_with_their_worker() -> None:
    clients, ended = ForwardedClients(), list[int]()
    for number in range(3):
        clients.get(number).on_close(partial(ended.append, number))
    clients.close_all()
    assert ended == [0, 1, 2]
    assert len(clients) == 0
