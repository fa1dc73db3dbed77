"""What people see when a node starts."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol.node.facts import Facts

READY: Final = "Listening on "
"""How the last line begins, for scripts that wait for it; host and port follow."""

TEMPORARY: Final = "temporary: gone when the node stops (--data-dir keeps it)"


def banner(facts: Facts) -> str:
    """Return the lines that greet who starts a node: accounts, keys, the chain, where it listens."""
    lines = [
        "",
        f"Entresol {metadata.version('entresol')}, a layer-2 node of the ZK Stack family",
        "",
    ]
    if facts.accounts:
        lines += _accounts(facts)
    rows = [*_rows(facts), *_layer_one(facts)]
    return "\n".join((*lines, *rows, "", f"{READY}{facts.address}"))


def _accounts(facts: Facts) -> Iterator[str]:
    shown = [f"{it.address.checksummed()} ({facts.balance:,} ETH)" for it in facts.accounts]
    yield from _section("Available accounts", shown)
    yield from _section("Private keys, known to everybody", (it.secret for it in facts.accounts))
    yield f"Mnemonic     {facts.mnemonic}"


def _section(title: str, items: Iterable[object]) -> Iterator[str]:
    yield title
    yield "=" * len(title)
    for number, item in enumerate(items):
        yield f"({number}) {item}"
    yield ""


def _rows(facts: Facts) -> Iterator[str]:
    yield f"Chain id     {facts.chain_id}"
    yield f"Base fee     {facts.base_fee:,} wei"
    yield f"Gas limit    {facts.gas_limit:,}"
    yield f"Fork         {facts.fork}"
    yield f"Head         block {facts.head:,}"
    yield f"Accounts     {facts.unlocked}"
    yield f"Methods      {facts.methods}"
    yield f"Directory    {facts.data_dir or TEMPORARY}"
    yield f"HTTP         {facts.http_url}"
    yield f"WebSocket    {facts.websocket_url}"


def _layer_one(facts: Facts) -> Iterator[str]:
    l1 = facts.l1
    if l1 is None:
        yield "Layer 1      none: nothing settles (--no-l1)"
        return
    yield ""
    yield f"Layer 1      {'for development, in this process' if l1.is_ours else 'at its own address'}"
    yield f"Chain id     {l1.chain_id}"
    yield f"HTTP         {l1.endpoint.shown}"
    yield f"Bridgehub    {l1.contracts.bridgehub.checksummed()}"
    yield f"Chain        {l1.contracts.chain.checksummed()}"
