"""Clients of a worker, as its producer sees them."""

from __future__ import annotations

from entresol.replication.workers.clients import RemoteClients


class Worker:
    def __init__(self) -> None:
        self.pushed: list[tuple[int, bytes]] = []
        self.clients = RemoteClients(self.push)

    def push(self, number: int, document: bytes) -> bool:
        self.pushed.append((number, document))
        return True


def test_a_document_is_pushed_with_the_number_of_its_client() -> None:
    worker = Worker()
    assert worker.clients.get(7, "/feed").send(b"x")
    assert worker.pushed == [(7, b"x")]


def test_a_client_is_remembered_while_somebody_wants_to_know_its_end() -> None:
    worker = Worker()
    worker.clients.get(7, "/feed")
    assert len(worker.clients) == 0
    client = worker.clients.get(7, "/feed")
    ended: list[int] = []
    client.on_close(lambda: ended.append(7))
    assert worker.clients.get(7, "/feed") is client
    worker.clients.close(7)
    worker.clients.close(7)
    assert (ended, len(worker.clients)) == ([7], 0)


def test_nothing_is_pushed_to_a_client_that_is_gone() -> None:
    worker = Worker()
    client = worker.clients.get(7, "/feed")
    ended: list[int] = []
    client.on_close(lambda: ended.append(1))
    worker.clients.close_all()
    assert not client.send(b"x")
    client.on_close(lambda: ended.append(2))
    assert (worker.pushed, ended) == ([], [1, 2])
