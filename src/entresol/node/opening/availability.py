"""Whether an L2 publishes its data, and for whom it is: as flags say of a new chain, and as an existing one was created."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.chain.fees import FeeConstants
from entresol.chain.rules import ChainRules, block_rules_of
from entresol.errors import InvalidConfig
from entresol.primitives.batches import DataScheme
from entresol.primitives.published.limits import MAX_BLOCKS, MAX_PUBLISHED_BYTES, MAX_SET_GAS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.chain.chain import Chain
    from entresol.node.config.schema import NodeConfig
    from entresol.node.config.settlement import SettlementSettings
    from entresol.primitives.published.rules import BlockRules
    from entresol.storage.store import Store

_AVAILABILITY = "--data-availability"
_PRODUCTION = "--production"
_FLAGS = {
    "chain_id": "--chain-id",
    "fork": "--hardfork",
    "code_size_limit": "--code-size-limit",
    "caps_gas": "--enable-tx-gas-limit",
    "gas_limit": "--gas-limit",
    "beneficiary": "--fee-recipient",
    "minimal_l2_gas_price": "--gas-price",
}
"""The flags that decide block rules."""


def with_availability(
    rules: ChainRules, config: NodeConfig, store: Store, *, is_fork: bool
) -> ChainRules:
    """Return the rules of the chain in `store`, or of a new one, that say what it publishes; raise `InvalidConfig`.

    That is decided once, since the contract on L1 is created for it.
    """
    found = _with_availability(rules, config, store, is_fork=is_fork)
    if found.publishes and found.gas_limit > MAX_SET_GAS:
        raise InvalidConfig(
            "--gas-limit", f"a block of a chain that publishes has at most {MAX_SET_GAS}"
        )
    if found.publishes and config.settlement.batch_blocks > MAX_BLOCKS:
        raise InvalidConfig(
            "--batch-blocks", f"a batch of a chain that publishes has at most {MAX_BLOCKS} blocks"
        )
    return found


def _with_availability(
    rules: ChainRules, config: NodeConfig, store: Store, *, is_fork: bool
) -> ChainRules:
    _check_production(config)
    if store.head_number is None:
        return _of_a_new_chain(rules, config, is_fork=is_fork)
    stored = store.rules.at(store.head_number)
    _check_flags(config, stored)
    if stored is None:
        return rules
    published = msgspec.structs.replace(rules, publishes=True, is_development=stored.is_development)
    if not config.settlement.change_rules:
        _check_rules(stored, block_rules_of(published))
    return published


def max_pubdata_of(config: NodeConfig, store: Store) -> int:
    """Return among how many bytes the cost of a batch is divided: what a commit holds, if the chain publishes.

    A chain that exists keeps what it has published, and so its prices.
    """
    by_default = FeeConstants().max_pubdata_per_batch
    if store.head_number is None:
        return MAX_PUBLISHED_BYTES if _publishes(config.settlement) else by_default
    stored = store.rules.at(store.head_number)
    return by_default if stored is None else stored.max_pubdata_per_batch


def data_scheme_of(chain: Chain) -> DataScheme:
    """Return by which scheme a chain is registered on L1."""
    return DataScheme.CALLDATA if chain.rules.publishes else DataScheme.NONE


def _of_a_new_chain(rules: ChainRules, config: NodeConfig, *, is_fork: bool) -> ChainRules:
    settings = config.settlement
    if not _publishes(settings):
        return rules
    if settings.data_availability == "none":
        raise InvalidConfig(
            _PRODUCTION,
            f"others check such a chain by what it publishes: leave out {_AVAILABILITY} none",
        )
    flag = _PRODUCTION if settings.data_availability is None else _AVAILABILITY
    if not config.l1.l1:
        raise InvalidConfig(flag, "without an L1 there is nowhere to publish: leave out --no-l1")
    if is_fork:
        raise InvalidConfig(flag, "what a fork stands on is on no L1 here: leave out --fork-url")
    return msgspec.structs.replace(rules, publishes=True, is_development=not settings.production)


def _publishes(settings: SettlementSettings) -> bool:
    return settings.data_availability == "calldata" or settings.production


def _check_production(config: NodeConfig) -> None:
    """Raise `InvalidConfig` if a flag asks for what a chain for production has not."""
    if not config.settlement.production:
        return
    for flag, is_given in (
        ("--dev-methods", config.api.dev_methods),
        ("--expose-unlocked-accounts", config.api.expose_unlocked_accounts),
    ):
        if is_given:
            raise InvalidConfig(flag, "a chain for production has none of that: leave the flag out")


def _check_flags(config: NodeConfig, stored: BlockRules | None) -> None:
    """Raise `InvalidConfig` if flags contradict what an existing chain is."""
    settings = config.settlement
    found = "none" if stored is None else "calldata"
    if settings.data_availability not in (None, found):
        raise InvalidConfig(
            _AVAILABILITY,
            f"the chain was created with {found}, and stays so: leave the flag out, or give a new --data-dir",
        )
    if settings.production and (stored is None or stored.is_development):
        raise InvalidConfig(
            _PRODUCTION,
            "the chain was created for development: leave the flag out, or give a new --data-dir",
        )
    if stored is not None and not stored.is_development and not settings.production:
        raise InvalidConfig(_PRODUCTION, "the chain was created for production: give the flag")


def _check_rules(stored: BlockRules, wanted: BlockRules) -> None:
    """Raise `InvalidConfig` if blocks would have other rules than those that the chain has published last."""
    found = list(_differences(stored, wanted))
    if found:
        raise InvalidConfig(
            found[0][0],
            f"the chain has published other rules of its blocks: {', '.join(text for _, text in found)}. Give the same "
            "again, or --change-rules, which publishes these with the next block",
        )


def _differences(stored: BlockRules, wanted: BlockRules) -> Iterator[tuple[str, str]]:
    for name in wanted.__struct_fields__:
        before, after = getattr(stored, name), getattr(wanted, name)
        if before != after:
            flag = _FLAGS.get(name, name)
            yield flag, f"{flag} {before}, not {after}"
