"""Figures of a running node for whoever collects them: how far it is, and what keeps it from going on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol.chain.chain import Chain
    from entresol.rpc.server.connection import Counters


class Figure(NamedTuple):
    """One number under its name in Prometheus, which begins with `entresol_`."""

    name: str
    description: str
    value: int
    kind: Literal["gauge", "counter"] = "gauge"
    labels: str = ""
    """Names and values, as `part="deposits"`; figures of one name follow each other."""


def of_chain(chain: Chain) -> Iterator[Figure]:
    """Yield the figures of a chain."""
    final = chain.finality
    yield Figure("head_block", "Number of the last block.", chain.number)
    yield Figure("head_timestamp_seconds", "Timestamp of the last block.", chain.head.timestamp)
    yield Figure("safe_block", "Number of the last safe block.", final.safe)
    yield Figure("finalized_block", "Number of the last final block.", final.finalized)
    yield Figure("pool_transactions", "Transactions that wait for a block.", len(chain.pool))
    waiting = len(chain.producer.priority)
    yield Figure("pool_priority_transactions", "Deposits that wait for a block.", waiting)


def of_server(counters: Counters) -> Iterator[Figure]:
    """Yield the figures of a server."""
    it = counters
    yield Figure("connections_open", "Connections that are open.", it.connections_open)
    yield Figure("websockets_open", "WebSockets that are open.", it.websockets_open)
    for name, description, value in (
        ("connections_total", "Connections that were opened.", it.connections_total),
        ("connections_refused_total", "Connections that were refused.", it.connections_refused),
        ("requests_total", "Requests that came in.", it.requests_total),
        ("received_bytes_total", "Bytes that came in.", it.bytes_received),
        ("sent_bytes_total", "Bytes that went out.", it.bytes_sent),
    ):
        yield Figure(name, description, value, "counter")


def render(figures: Iterable[Figure]) -> str:
    """Return figures in the text format of Prometheus."""
    lines, before = [], ""
    for it in figures:
        if it.name != before:
            lines.append(f"# HELP entresol_{it.name} {it.description}")
            lines.append(f"# TYPE entresol_{it.name} {it.kind}")
            before = it.name
        labels = f"{{{it.labels}}}" if it.labels else ""
        lines.append(f"entresol_{it.name}{labels} {it.value:d}")
    return "".join(line + "\n" for line in lines)
