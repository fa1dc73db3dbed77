"""Development features: funded accounts, unlocked accounts, developer methods, and where each is on by default."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from entresol.chain.genesis.accounts import (
    DEVELOPMENT_MNEMONIC,
    ZK_STACK_ACCOUNTS,
    DevAccount,
    derive,
)
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.keyring import Keyring
from entresol.errors import InvalidConfig, MalformedValue
from entresol.node.config.schema import MAX_ACCOUNTS, ChainConfig, NodeConfig
from entresol.server.access_control import is_loopback

DEFAULT_ACCOUNTS: Final = 10

Funding: TypeAlias = tuple[DevAccount, ...]
"""The development accounts that a genesis funds."""


def settles_remotely(config: NodeConfig) -> bool:
    """Return whether the L1 is a remote one, where ether may have value."""
    return config.l1.l1 and config.l1.l1_url is not None


def restriction(config: NodeConfig) -> str | None:
    """Return why developer methods are off and accounts locked by default; None if they are not."""
    if config.settlement.production:
        return "the chain is one for production"
    if settles_remotely(config):
        return "the chain settles on the L1 of --l1-url"
    if not all(map(is_loopback, config.server.hosts)):
        return f"the node listens on {config.server.host}"
    return None


def serves_dev_methods(config: NodeConfig) -> bool:
    """Return whether evm_, anvil_ and hardhat_ are served: as the flag says, else unless there is a restriction."""
    wanted = config.api.dev_methods
    return restriction(config) is None if wanted is None else wanted


@cache
def development_accounts(config: ChainConfig) -> Funding:
    """Return the accounts that the genesis of a development node funds, the derived ones first."""
    return (*requested_accounts(config), *ZK_STACK_ACCOUNTS)


def funding(config: NodeConfig) -> Funding:
    """Return the accounts that the genesis of a new L2 funds; on a remote L1 those that flags name."""
    if settles_remotely(config):
        return _requested(config.chain)
    return development_accounts(config.chain)


def funded_accounts(
    config: ChainConfig, genesis: Genesis, *, is_layer_one: bool = False
) -> Funding:
    """Return the development accounts in the genesis of an open chain; a --genesis file, which is the L2's, has none."""
    if config.genesis is not None and not is_layer_one:
        return ()
    without_code = sum(not account.code for account in genesis.alloc.values())
    possible = (*derived_accounts(config, without_code), *ZK_STACK_ACCOUNTS)
    return tuple(contract for contract in possible if contract.address in genesis.alloc)


def init_signers(path: str | None) -> Funding:
    """Return the accounts of an --init file that have a secret key."""
    accounts = {} if path is None else Genesis.load(Path(path)).alloc
    keys = (account.secret_key for account in accounts.values())
    return tuple(DevAccount.from_secret(key) for key in keys if key is not None)


def derived_accounts(config: ChainConfig, count: int) -> Funding:
    """Return the first `count` accounts of the mnemonic, but not more than a genesis can fund."""
    return _derive(config.mnemonic, min(count, MAX_ACCOUNTS), config.derivation_path)


def requested_accounts(config: ChainConfig) -> Funding:
    """Return the accounts of the mnemonic that the flags request."""
    return derived_accounts(
        config, DEFAULT_ACCOUNTS if config.accounts is None else config.accounts
    )


def open_keyring(config: NodeConfig, accounts: Funding) -> Keyring:
    """Return a keyring with `accounts`; it is locked if there is a restriction, unless a flag exposes it."""
    reason = restriction(config)
    if reason is not None and not config.api.expose_unlocked_accounts:
        return Keyring(locked=f"{reason}; --expose-unlocked-accounts unlocks them anyway")
    keyring = Keyring(accounts)
    keyring.impersonate_all(enabled=config.api.auto_impersonate)
    return keyring


def _requested(config: ChainConfig) -> Funding:
    """Return the accounts that flags request by name; keys that are publicly known only if they do, too."""
    if not config.accounts:
        return ()
    is_public = config.mnemonic == DEVELOPMENT_MNEMONIC
    return development_accounts(config) if is_public else requested_accounts(config)


@cache
def _derive(mnemonic: str, count: int, path: str) -> Funding:
    try:
        return derive(mnemonic, count, path)
    except MalformedValue as error:
        flag = "--mnemonic" if error.field is None else f"--{error.field}"
        raise InvalidConfig(flag, error.problem) from error
