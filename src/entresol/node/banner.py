"""What people see when a node starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.node.assembly import development_accounts

if TYPE_CHECKING:
    from entresol.chain.keyring import Keyring
    from entresol.node.config import NodeConfig
    from entresol.node.node import Node

READY = "Listening on "
"""How the last line begins, for scripts that wait for it."""


def banner(node: Node, config: NodeConfig) -> str:
    """Return the lines that greet who starts a node: accounts, keys, the chain, where it listens."""
    chain = config.chain
    lines = ["", "Entresol: a layer-2 node of the ZK Stack family, for development", ""]
    if chain.genesis is None:
        lines += _accounts(config)
    lines += [
        f"Chain id     {node.chain.rules.chain_id}",
        f"Base fee     {chain.gas_price} wei",
        f"Gas limit    {chain.gas_limit}",
        f"Fork         {chain.hardfork}",
        f"Head         block {node.chain.number}",
        f"Accounts     {_unlocked(node.keyring)}",
        f"Methods      {_methods(config)}",
        f"Kept in      {chain.data_dir or 'memory: gone when the node stops (--data-dir keeps it)'}",
        "",
        f"{READY}{node.url} (HTTP and WebSocket)",
    ]
    return "\n".join(lines)


def _unlocked(keyring: Keyring) -> str:
    if keyring.locked is not None:
        return f"locked: {keyring.locked}"
    count = len(keyring.addresses)
    return f"{count} unlocked: eth_sendTransaction signs for them, whoever asks"


def _methods(config: NodeConfig) -> str:
    if config.api.dev_methods:
        return "with evm_, anvil_ and hardhat_ (--no-dev-methods leaves them out)"
    return "without evm_, anvil_ and hardhat_ (--no-dev-methods)"


def _accounts(config: NodeConfig) -> list[str]:
    accounts = development_accounts(config.chain)
    balance = config.chain.balance
    lines = [f"Accounts, each with {balance:,} ether and known to everybody:", ""]
    for number, account in enumerate(accounts):
        lines.append(f"  ({number}) {account.address.checksummed()}  key {account.secret}")
    return [*lines, "", f"Mnemonic     {config.chain.mnemonic}", ""]
