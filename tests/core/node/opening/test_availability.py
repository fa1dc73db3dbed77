"""Whether a chain publishes its data, and for whom it is, when it is created and opened again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from entresol.chain.chain import Chain
from entresol.chain.rules import block_rules_of
from entresol.errors import InvalidConfig
from entresol.node.config.api import ApiConfig
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.config.settlement import SettlementSettings
from entresol.node.opening import availability
from entresol.node.opening.layer_two import open_layer_two
from entresol.primitives.published.limits import MAX_PUBLISHED_BYTES, MAX_SET_GAS


def config_of(directory: Path | None, **settings: Any) -> NodeConfig:
    chain = ChainConfig(data_dir=None if directory is None else str(directory))
    return NodeConfig(chain=chain, settlement=SettlementSettings(**settings))


@contextmanager
def opened(config: NodeConfig) -> Iterator[Chain]:
    chain, _ = open_layer_two(config, None, None)
    yield chain
    chain.close()


def open_once(config: NodeConfig) -> None:
    with opened(config):
        pass


def with_chain(config: NodeConfig, **chain: Any) -> NodeConfig:
    settings = {"data_dir": config.chain.data_dir, **chain}
    return NodeConfig(chain=ChainConfig(**settings), settlement=config.settlement, evm=config.evm)


def test_a_chain_that_publishes_stores_the_rules_of_its_blocks_with_the_genesis() -> None:
    with opened(config_of(None, data_availability="calldata")) as chain:
        stored = chain.ledger.store.rules.at(0)
        assert stored is not None
        assert (stored.gas_limit, stored.is_development) == (chain.rules.gas_limit, True)


@pytest.mark.parametrize(
    ("published", "limit"), [("none", 500_000), ("calldata", MAX_PUBLISHED_BYTES)]
)
def test_a_chain_that_publishes_divides_the_cost_of_a_batch_among_what_a_commit_holds(
    published: str, limit: int
) -> None:
    chain, fees = open_layer_two(config_of(None, data_availability=published), None, None)
    assert fees.constants.max_pubdata_per_batch == limit
    stored = chain.ledger.store.rules.at(0)
    assert stored is None or stored.max_pubdata_per_batch == limit
    chain.close()


def test_a_chain_that_has_published_another_limit_keeps_it_and_its_prices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(availability, "MAX_PUBLISHED_BYTES", 500_000)
        open_once(config_of(tmp_path, data_availability="calldata"))
    chain, fees = open_layer_two(config_of(tmp_path), None, None)
    assert fees.constants.max_pubdata_per_batch == 500_000
    assert block_rules_of(chain.rules) == chain.ledger.store.rules.at(0)
    chain.close()


@pytest.mark.parametrize(("first", "then"), [("none", "calldata"), ("calldata", "none")])
def test_what_a_chain_publishes_is_decided_when_it_is_created(
    tmp_path: Path, first: str, then: str
) -> None:
    open_once(config_of(tmp_path, data_availability=first))
    with pytest.raises(InvalidConfig, match=f"--data-availability: .* created with {first}"):
        open_once(config_of(tmp_path, data_availability=then))


def test_a_chain_for_production_cannot_publish_nothing() -> None:
    with pytest.raises(InvalidConfig, match=r"--production: .* leave out --data-availability none"):
        open_once(config_of(None, production=True, data_availability="none"))


def test_a_chain_for_production_is_opened_with_the_flag_alone(tmp_path: Path) -> None:
    open_once(config_of(tmp_path, production=True))
    with pytest.raises(
        InvalidConfig, match=r"--production: .* created for production: give the flag"
    ):
        open_once(config_of(tmp_path))


@pytest.mark.parametrize("settings", [{}, {"data_availability": "calldata"}])
def test_a_chain_for_development_stays_one(tmp_path: Path, settings: dict[str, Any]) -> None:
    open_once(config_of(tmp_path, **settings))
    with pytest.raises(InvalidConfig, match=r"--production: .* created for development"):
        open_once(config_of(tmp_path, production=True))


@pytest.mark.parametrize(
    ("flag", "api"),
    [
        ("--dev-methods", ApiConfig(dev_methods=True)),
        ("--expose-unlocked-accounts", ApiConfig(expose_unlocked_accounts=True)),
    ],
)
def test_a_chain_for_production_has_nothing_for_developers(flag: str, api: ApiConfig) -> None:
    settlement = SettlementSettings(production=True)
    with pytest.raises(InvalidConfig, match=f"{flag}: a chain for production"):
        open_once(NodeConfig(settlement=settlement, api=api))


def test_a_chain_without_an_l1_has_nowhere_to_publish() -> None:
    settlement = SettlementSettings(data_availability="calldata")
    with pytest.raises(InvalidConfig, match=r"--data-availability: .* leave out --no-l1"):
        open_once(NodeConfig(settlement=settlement, l1=L1Config(l1=False)))


@pytest.mark.parametrize(
    ("flag", "changed"),
    [
        ("--gas-limit", {"gas_limit": 1_000_000}),
        ("--gas-price", {"gas_price": 7}),
        ("--hardfork", {"hardfork": "prague"}),
        ("--fee-recipient", {"fee_recipient": "0x" + "11" * 20}),
    ],
)
def test_other_rules_than_the_chain_has_published_need_a_flag(
    tmp_path: Path, flag: str, changed: dict[str, Any]
) -> None:
    config = config_of(tmp_path, data_availability="calldata")
    open_once(config)
    with pytest.raises(InvalidConfig, match=f"{flag}: .*, not .* --change-rules"):
        open_once(with_chain(config, **changed))
    changing = config_of(tmp_path, change_rules=True)
    with opened(with_chain(changing, **changed)) as chain:
        chain.builder.seal()
        assert chain.ledger.store.rules.changes_at(1)


def test_a_gas_limit_that_no_deriver_executes_is_rejected_by_name() -> None:
    open_once(with_chain(config_of(None), gas_limit=MAX_SET_GAS + 1))
    config = with_chain(config_of(None, data_availability="calldata"), gas_limit=MAX_SET_GAS + 1)
    with pytest.raises(InvalidConfig, match=r"--gas-limit.*at most 1000000000"), opened(config):
        pass
