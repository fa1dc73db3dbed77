"""A chain starts only on an L1 that has what the chain has of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec
import pytest

from entresol.chain.chain import Chain
from entresol.errors import LayerOneMismatch
from entresol.l1.deployment import addresses_of
from entresol.l1.operator import OperatorKeys
from entresol.node.settlement.settlement_layer import SettlementLayer
from entresol.node.startup.l1_checks import check_agreement
from entresol.rollup.interop.root_follower import RootFollower
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import open_importing
from tests.support.ecosystem.roots_layer_one import (
    BRIDGEHUB,
    L1_CHAIN_ID,
    MESSAGE_ROOT,
    RootsLayerOne,
    appended,
)
from tests.support.rollup.layer_ones import ACCOUNTS

OTHER = 271


@pytest.fixture
def chain() -> Iterator[Chain]:
    opened = open_importing()
    opened.schedule.seal_on_request()
    yield opened
    opened.close()


def import_roots(chain: Chain, l1: RootsLayerOne) -> None:
    follower = RootFollower(chain, InlineSequencer(chain), l1.contract(), L1_CHAIN_ID)
    asyncio.run(follower.step())
    if len(chain.filler.roots):
        chain.builder.seal()


def check(chain: Chain, l1: RootsLayerOne) -> None:
    contracts = addresses_of(ACCOUNTS[0].address)
    layer = SettlementLayer(
        l1=l1,  # type: ignore[arg-type]
        l1_chain_id=L1_CHAIN_ID,
        contracts=msgspec.structs.replace(
            contracts, bridgehub=BRIDGEHUB, message_root=MESSAGE_ROOT
        ),
        operator_keys=OperatorKeys.of(ACCOUNTS[0].secret),
    )
    asyncio.run(check_agreement(chain, layer))


def test_a_chain_starts_on_an_l1_that_has_the_roots_that_it_has_imported(chain: Chain) -> None:
    l1 = RootsLayerOne(chain.rules.chain_id, OTHER)
    check(chain, l1)
    l1.mine(appended(OTHER, 1))
    import_roots(chain, l1)
    l1.mine()
    check(chain, l1)


def test_a_chain_that_is_ahead_of_its_l1_by_a_root_does_not_start(chain: Chain) -> None:
    l1 = RootsLayerOne(chain.rules.chain_id, OTHER)
    l1.mine()
    l1.mine(appended(OTHER, 1))
    import_roots(chain, l1)
    l1.reorg(1)
    with pytest.raises(LayerOneMismatch, match=r"of L1 block 2 .* block 1, but .* ends at block 1"):
        check(chain, l1)
    l1.mine(appended(OTHER, 1, 7))
    with pytest.raises(LayerOneMismatch, match="is ahead of its L1"):
        check(chain, l1)


def test_a_root_that_is_not_imported_yet_does_not_keep_a_chain_from_starting(chain: Chain) -> None:
    l1 = RootsLayerOne(chain.rules.chain_id, OTHER)
    l1.mine(appended(OTHER, 1))
    import_roots(chain, l1)
    l1.mine(appended(OTHER, 2))
    follower = RootFollower(chain, InlineSequencer(chain), l1.contract(), L1_CHAIN_ID)
    asyncio.run(follower.step())
    assert len(chain.filler.roots) == 1
    l1.reorg(1)
    check(chain, l1)
