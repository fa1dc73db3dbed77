from __future__ import annotations

from typing import Any

import pytest

from entresol.chain.genesis.accounts import ZK_STACK_ACCOUNTS, derive
from entresol.errors import AccountsLocked, InvalidConfig
from entresol.node.config.api import ApiConfig
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.dev_features import (
    development_accounts,
    funding,
    open_keyring,
    serves_dev_methods,
)
from entresol.server.config import ServerConfig

CUSTOM = "legal winner thank year wave sausage worth useful legal winner thank yellow"
REMOTE = L1Config(l1_url="http://l1.example")
EVERYWHERE = ServerConfig(host="0.0.0.0")  # noqa: S104  # what is tested


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (NodeConfig(), True),
        (NodeConfig(l1=L1Config(l1=False)), True),
        (NodeConfig(l1=REMOTE), False),
        (NodeConfig(server=EVERYWHERE), False),
        (NodeConfig(server=ServerConfig(host="::1")), True),
        (NodeConfig(l1=REMOTE, server=EVERYWHERE, api=ApiConfig(dev_methods=True)), True),
        (NodeConfig(api=ApiConfig(dev_methods=False)), False),
    ],
)
def test_developer_methods_are_off_where_others_have_something_to_lose(
    config: NodeConfig, *, expected: bool
) -> None:
    assert serves_dev_methods(config) is expected


@pytest.mark.parametrize("config", [NodeConfig(l1=REMOTE), NodeConfig(server=EVERYWHERE)])
def test_accounts_are_locked_there_unless_a_flag_exposes_them(config: NodeConfig) -> None:
    accounts = development_accounts(ChainConfig(accounts=1))
    keyring = open_keyring(config, accounts)
    with pytest.raises(AccountsLocked, match="--expose-unlocked-accounts"):
        keyring.sender(None)
    exposed = NodeConfig(
        l1=config.l1, server=config.server, api=ApiConfig(expose_unlocked_accounts=True)
    )
    assert open_keyring(exposed, accounts).sender(None) == accounts[0].address


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ({}, ()),
        ({"accounts": 0}, ()),
        ({"balance": 5}, ()),
        ({"accounts": 1}, development_accounts(ChainConfig(accounts=1))),
        ({"accounts": 1, "mnemonic": CUSTOM}, derive(CUSTOM, 1)),
    ],
)
def test_a_new_chain_on_a_remote_l1_funds_only_what_a_flag_names(
    chain: dict[str, Any], expected: object
) -> None:
    assert funding(NodeConfig(chain=ChainConfig(**chain), l1=REMOTE)) == expected


def test_a_development_pair_funds_the_accounts_that_tools_expect() -> None:
    assert len(funding(NodeConfig())) == 12
    custom = NodeConfig(chain=ChainConfig(accounts=1, mnemonic=CUSTOM))
    assert funding(custom) == (*derive(CUSTOM, 1), *ZK_STACK_ACCOUNTS)


def test_an_invalid_mnemonic_is_reported_with_its_flag_and_not_repeated() -> None:
    with pytest.raises(InvalidConfig, match=r"^--mnemonic: a mnemonic is 12, .* got 2$"):
        funding(NodeConfig(chain=ChainConfig(mnemonic="open sesame")))
