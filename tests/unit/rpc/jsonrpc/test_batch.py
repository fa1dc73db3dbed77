from __future__ import annotations

import asyncio

from entresol.rpc.jsonrpc.batch import RequestBatch, Response


class Calls:
    """Responds to sends once they are released together, and to others at once with what was sent by then."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.sent = 0

    def respond(self, item: str) -> Response:
        self.started.append(item)
        return self._send() if item == "send" else b"%d" % self.sent

    async def _send(self) -> bytes:
        await asyncio.sleep(0)
        self.sent += 1
        return b"sent"


async def responses(calls: Calls, *items: str) -> bytes | None:
    batch = RequestBatch(list(items), calls.respond, 1 << 20, lambda item: item == "send")
    if not batch.advance():
        await batch.finish()
    return batch.joined()


def test_a_call_starts_after_the_group_before_it() -> None:
    calls = Calls()
    items = ("read", "send", "send", "read", "read", "send", "read")
    assert asyncio.run(responses(calls, *items)) == b"[0,sent,sent,2,2,sent,3]"
    assert calls.started == list(items)


def test_the_calls_of_a_group_run_together() -> None:
    async def live() -> list[str]:
        calls = Calls()
        batch = RequestBatch(["send", "send", "read"], calls.respond, 1 << 20, "send".__eq__)
        assert not batch.advance()
        started = list(calls.started)
        await batch.finish()
        return started

    assert asyncio.run(live()) == ["send", "send"]
