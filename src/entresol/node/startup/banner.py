"""The banner that a node prints at start-up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.chain.genesis.accounts import ZK_STACK_ACCOUNTS
from entresol.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from entresol.node.startup.info import NodeInfo

READY: Final = "Listening on "
"""How the last line begins, for scripts that wait for it; host and port follow."""

PAIR: Final = "a layer-2 node of the ZK Stack family"
ALONE: Final = "a layer 1 as anvil has it"
RICH: Final = ", a rich account of ZK Stack tools, not of the mnemonic"
TEMPORARY: Final = "temporary: deleted when the node stops (--data-dir keeps it)"


def banner(info: NodeInfo) -> str:
    """Return the banner: accounts, keys, the chain, the L1, the address."""
    lines = ["", f"Entresol {VERSION}, {ALONE if info.is_layer_one else PAIR}", ""]
    if info.accounts:
        lines += _accounts(info)
    rows = [*_rows(info), *_other_chains(info), *_layer_one(info)]
    return "\n".join((*lines, *rows, "", ready_line(info)))


def ready_line(info: NodeInfo) -> str:
    """Return the last line of the banner."""
    return f"{READY}{info.address}"


def _accounts(info: NodeInfo) -> Iterator[str]:
    balance = f"{info.balance:,} {info.base_token.symbol}"
    shown = [
        f"{account.address.checksummed()} ({balance}){RICH if account in ZK_STACK_ACCOUNTS else ''}"
        for account in info.accounts
    ]
    yield from _section("Available accounts", shown)
    if info.mnemonic_file is not None:
        yield f"Mnemonic     in {info.mnemonic_file}; --config-out writes the private keys"
        return
    title = "Private keys, publicly known" if info.has_public_keys else "Private keys"
    yield from _section(title, (account.secret for account in info.accounts))
    yield f"Mnemonic     {info.mnemonic}"
    yield f"Path         {info.path}"


def _section(title: str, items: Iterable[object]) -> Iterator[str]:
    yield title
    yield "=" * len(title)
    for number, item in enumerate(items):
        yield f"({number}) {item}"
    yield ""


def _rows(info: NodeInfo) -> Iterator[str]:
    yield f"Chain id     {info.chain_id}"
    yield from _prices(info)
    yield f"Gas limit    {info.gas_limit:,}"
    yield f"Fork         {info.fork}"
    if info.forked is None:
        yield f"Genesis      {info.genesis_timestamp}, the Unix time of block 0"
    else:
        yield from info.forked.rows()
    yield f"Head         block {info.head:,}"
    yield f"Accounts     {info.unlocked}"
    if not info.is_layer_one:
        yield f"Money        {info.money}"
        yield f"Methods      {info.methods}"
        yield f"Directory    {info.data_dir or TEMPORARY}"
    yield f"HTTP         {info.http_url}"
    yield f"WebSocket    {info.websocket_url}"
    yield from (f"{title:<12} {text}" for title, text in info.rows.items())


def _prices(info: NodeInfo) -> Iterator[str]:
    token = info.base_token
    if token.is_ether:
        yield f"Base fee     {info.base_fee:,} wei"
        return
    yield f"Base token   {token.symbol}, {token.decimals} decimals, {token.l1_address.checksummed()} on L1"
    yield f"Ratio        {token.ether_price.tokens(token.decimals)} {token.symbol} for an ether"
    yield f"Base fee     {info.base_fee:,} of the smallest unit of {token.symbol}"


def _other_chains(info: NodeInfo) -> Iterator[str]:
    """Yield where the other L2s are; all that is not said of them is as above."""
    for other in info.others:
        yield ""
        yield f"Chain id     {other.chain_id}"
        if other.base_token != info.base_token:
            yield from _prices(other)
        if other.forked is not None:
            yield from other.forked.rows()
        yield f"Head         block {other.head:,}"
        if other.data_dir is not None:
            yield f"Directory    {other.data_dir}"
        yield f"HTTP         {other.http_url}"
        yield f"WebSocket    {other.websocket_url}"


def _layer_one(info: NodeInfo) -> Iterator[str]:
    l1 = info.l1
    if info.is_layer_one:
        return
    if l1 is None:
        yield "Layer 1      none: nothing settles (--no-l1)"
        return
    yield ""
    yield f"Layer 1      {'development chain, in this process' if l1.is_embedded else 'remote'}"
    yield f"Chain id     {l1.chain_id}"
    yield f"HTTP         {l1.endpoint.redacted}"
    if l1.extra_url is not None:
        yield f"HTTP         {l1.extra_url}"
    if info.l1_forked is not None:
        yield from info.l1_forked.rows()
    if info.forked is not None or info.l1_forked is not None:
        yield "Bridge       this node's own, not the one that the real chains have"
    yield f"Bridgehub    {l1.contracts.bridgehub.checksummed()}"
    for chain in (info, *info.others):
        assert chain.l1 is not None
        which = f" of {chain.chain_id}" if info.others else ""
        yield f"Chain        {chain.l1.contracts.chain.checksummed()}{which}"
