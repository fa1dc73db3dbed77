"""Roots of all chains on L1: their trees, and that no root comes without its books."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.bundles import (
    Call,
    PlainBundle,
    asset_call,
    batch_leaf,
    chain_leaf,
    described,
    mint_of,
    tree_root,
)
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, NOW, Reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    DEPLOYER,
    ETH_TOKEN,
    L2_ASSET_ROUTER,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    deploy,
)
from tests.support.contracts.merkle_trees import NO_LOG, message_log, root_of
from tests.support.contracts.requests import deposit_ether
from tests.support.run.examples import examples

ETHER_ID = asset_id(ETH_TOKEN)
THIRD_CHAIN_ID = 272
L2_TOKEN = Address(b"\x77" * 20)


@pytest.fixture
def chains(l1: Deployed) -> Deployed:
    """Return two chains, of which the first holds an ether."""
    l1.add_chain()
    deposit_ether(l1, ETHER)
    return l1


def settle(l1: Deployed, *logs: L2ToL1Log, bundles: tuple[PlainBundle, ...] = ()) -> int:
    """Execute a batch of the first chain with these logs and bundles, and add its root."""
    logs = (*logs, *(bundle.log() for bundle in bundles))
    number = l1.settle(*logs)
    add(l1, number, logs, [bundle.message() for bundle in bundles])
    return number


def add(l1: Deployed, number: int, logs: tuple[L2ToL1Log, ...], messages: list[bytes]) -> None:
    packed = b"".join(log.pack() for log in logs)
    l1.engine.send(BOB, l1.message_root, "settle", CHAIN_ID, number, packed, messages)


def ether(amount: int) -> PlainBundle:
    return PlainBundle(calls=[Call(to=BOB, sender=ALICE, value=amount)], base_token=ETHER_ID)


def transfer(asset: Hash32, token: Address, amount: int, source: int = CHAIN_ID) -> Call:
    return asset_call(asset, mint_of(token, amount, described(source)), source)


def balance(l1: Deployed, chain_id: int, asset: Hash32 = ETHER_ID) -> int:
    return int(l1.engine.read(l1.vault, "chainBalance", chain_id, asset))


def is_settled(l1: Deployed, number: int) -> bool:
    return bool(l1.engine.read(l1.message_root, "isSettled", CHAIN_ID, number))


def is_left_out(l1: Deployed, number: int, leaf: int) -> bool:
    return bool(l1.engine.read(l1.message_root, "isLeftOut", CHAIN_ID, number, leaf))


def left_out_for(l1: Deployed) -> list[str]:
    return [rejection.error for rejection in l1.left_out().values()]


def appended(l1: Deployed) -> bytes:
    (found,) = (
        event
        for event in l1.engine.events(l1.message_root)
        if event.name == "AppendedChainBatchRoot"
    )
    return bytes(found.fields["chainBatchRoot"])


def aggregated(l1: Deployed) -> bytes:
    return bytes(l1.engine.read(l1.message_root, "getAggregatedRoot"))


def test_a_registered_chain_has_a_leaf_before_its_first_batch(l1: Deployed) -> None:
    l1.add_chain()
    leaves = [chain_leaf(bytes(32), it) for it in (L1_CHAIN_ID, CHAIN_ID, OTHER_CHAIN_ID)]
    assert aggregated(l1) == tree_root(leaves)
    assert l1.engine.read(l1.message_root, "chainCount") == 2


@settings(max_examples=examples(20))
@given(st.lists(st.integers(0, 3), max_size=12))
def test_the_root_is_that_over_every_batch_of_every_chain(order: list[int]) -> None:
    l1 = deploy()
    ids = [CHAIN_ID, OTHER_CHAIN_ID, THIRD_CHAIN_ID, THIRD_CHAIN_ID + 1]
    contracts = [l1.chain, *(l1.add_chain(chain_id) for chain_id in ids[1:])]
    leaves: dict[int, list[bytes]] = {chain_id: [] for chain_id in ids}
    for place in order:
        log = message_log(0, BOB, bytes([place]))
        number = l1.settle(log, chain=contracts[place])
        l1.engine.timestamp += 1
        l1.engine.send(BOB, l1.message_root, "settle", ids[place], number, log.pack(), [])
        leaves[ids[place]].append(batch_leaf(root_of([log]), number, l1.engine.timestamp))
    roots = {it: tree_root(found) if found else bytes(32) for it, found in leaves.items()}
    expected = tree_root(
        [
            chain_leaf(bytes(32), L1_CHAIN_ID),
            *(chain_leaf(roots[chain_id], chain_id) for chain_id in ids),
        ]
    )
    assert aggregated(l1) == expected
    for it, root in roots.items():
        assert bytes(l1.engine.read(l1.message_root, "getChainRoot", it)) == root


def test_events_tell_of_chains_and_roots_what_others_rebuild_the_trees_from(l1: Deployed) -> None:
    l1.add_chain()
    number = l1.settle()
    for changes, batch in enumerate((number, l1.settle())):
        add(l1, batch, (), [])
        appended, chain, root = l1.engine.events(l1.message_root)
        assert appended.name == "AppendedChainBatchRoot"
        assert appended.fields == {
            "chainId": CHAIN_ID, "batchNumber": batch, "chainBatchRoot": root_of(()),
        }  # fmt: skip
        assert chain.name == "NewChainRoot"
        chain_root = bytes(l1.engine.read(l1.message_root, "getChainRoot", CHAIN_ID))
        leaf = chain_leaf(chain_root, CHAIN_ID)
        assert chain.fields == {
            "chainId": CHAIN_ID, "chainRoot": chain_root, "chainIdLeafHash": leaf,
        }  # fmt: skip
        assert root.name == "NewInteropRoot"
        assert root.fields == {
            "chainId": L1_CHAIN_ID,
            "blockNumber": 1,
            "logId": changes,
            "timestamp": NOW,
            "sides": (aggregated(l1),),
        }


@pytest.mark.parametrize("count", [0, 1, 2, 3, 255, 1024])
def test_the_logs_of_a_batch_are_checked_whole(l1: Deployed, count: int) -> None:
    l1.engine.gas_limit = 16_777_216
    settle(l1, *(message_log(number, BOB, b"") for number in range(count)))


def test_more_logs_than_a_batch_with_bundles_has_are_rejected(l1: Deployed) -> None:
    logs = tuple(message_log(number, BOB, b"") for number in range(1025))
    number = l1.settle(*logs)
    with pytest.raises(Reverted, match="InvalidLogsLength"):
        add(l1, number, logs, [])


def test_a_bundle_that_is_not_covered_is_left_out_and_the_others_of_its_batch_are_booked(
    chains: Deployed,
) -> None:
    first, poor, last = ether(ETHER // 2), ether(ETHER), ether(ETHER // 4)
    number = settle(chains, message_log(0, BOB, b"hello"), bundles=(first, poor, last))
    assert {it: str(reason) for it, reason in chains.left_out().items()} == {
        2: f"InteropValueNotCovered({CHAIN_ID}, 1, {bytes(ETHER_ID)!r}, {ETHER // 2})"
    }
    logs = [message_log(0, BOB, b"hello"), first.log(), NO_LOG, last.log()]
    assert appended(chains) == root_of(logs), "the bundle has no leaf that can be proven"
    assert balance(chains, CHAIN_ID) == ETHER // 4
    assert balance(chains, OTHER_CHAIN_ID) == 3 * ETHER // 4
    left_out = [is_left_out(chains, number, it) for it in range(4)]
    assert left_out == [False, False, True, False]
    assert not is_settled(chains, number)


def test_anyone_settles_what_was_left_out_once_it_is_covered_and_only_that(
    chains: Deployed,
) -> None:
    fine, poor, poorer = ether(ETHER // 2), ether(2 * ETHER), ether(4 * ETHER)
    bundles = (fine, poor, poorer)
    logs = tuple(bundle.log() for bundle in bundles)
    number = settle(chains, bundles=bundles)
    messages = [bundle.message() for bundle in bundles]
    for paid, missing, root in (
        (2 * ETHER, [2], root_of([fine.log(), poor.log(), NO_LOG])),
        (4 * ETHER, [], root_of(logs)),
    ):
        with pytest.raises(Reverted, match="InteropValueNotCovered"):
            add(chains, number, logs, messages)
        deposit_ether(chains, paid)
        add(chains, number, logs, messages)
        assert list(chains.left_out()) == missing
        assert appended(chains) == root
        assert is_settled(chains, number) is not bool(missing)
    assert balance(chains, CHAIN_ID) == ETHER // 2
    assert balance(chains, OTHER_CHAIN_ID) == 6 * ETHER + ETHER // 2
    with pytest.raises(Reverted, match="BatchAlreadySettled"):
        add(chains, number, logs, messages)


def test_nothing_of_a_bundle_that_is_left_out_is_booked(chains: Deployed) -> None:
    asset = asset_id(L2_TOKEN, CHAIN_ID)
    calls = [transfer(asset, L2_TOKEN, 5), Call(to=BOB, sender=ALICE, value=2 * ETHER)]
    settle(chains, bundles=(PlainBundle(calls=calls, base_token=ETHER_ID),))
    assert list(chains.left_out()) == [0]
    assert balance(chains, OTHER_CHAIN_ID, asset) == 0
    assert chains.engine.read(chains.vault, "originChainId", asset) == 0


def test_no_bundle_is_left_out_for_want_of_gas(chains: Deployed) -> None:
    asset = asset_id(L2_TOKEN, CHAIN_ID)
    # Costly enough that what remains of the gas when it fails is enough to leave it out.
    calls = [
        transfer(asset_id(it, CHAIN_ID), it, 1)
        for it in (Address((1 + number).to_bytes(20)) for number in range(63))
    ]
    bundle = PlainBundle(calls=[*calls, transfer(asset, L2_TOKEN, 5)], base_token=ETHER_ID)
    number = chains.settle(bundle.log())
    chains.engine.gas_limit, rejected = 1_000_000, 0
    while not is_settled(chains, number):
        chains.engine.gas_limit += 250_000
        try:
            add(chains, number, (bundle.log(),), [bundle.message()])
        except Reverted as error:
            rejected += error.error == "BundleNotReadable"
        else:
            assert not chains.left_out()
    assert rejected, "gas that suffices for all but the bundle was tried"
    assert balance(chains, OTHER_CHAIN_ID, asset) == 5


def test_an_amount_that_sums_could_overflow_by_is_left_out(chains: Deployed) -> None:
    asset = asset_id(L2_TOKEN, CHAIN_ID)
    settle(
        chains,
        bundles=tuple(
            PlainBundle(calls=[transfer(asset, L2_TOKEN, it)], base_token=ETHER_ID)
            for it in (2**128 - 1, 2**128, 2**256 - 1)
        ),
    )
    reasons = {it: str(reason) for it, reason in chains.left_out().items()}
    assert reasons == {1: f"AmountTooLarge({2**128})", 2: f"AmountTooLarge({2**256 - 1})"}
    assert balance(chains, OTHER_CHAIN_ID, asset) == 2**128 - 1


def test_a_chain_without_any_of_an_asset_names_none(chains: Deployed) -> None:
    token = chains.token()
    chains.engine.send(BOB, chains.vault, "ensureTokenIsRegistered", token.address)
    settle(
        chains,
        bundles=(
            PlainBundle(
                calls=[transfer(asset_id(token.address), token.address, 0)], base_token=ETHER_ID
            ),
        ),
    )
    assert {it: str(reason) for it, reason in chains.left_out().items()} == {0: "EmptyAssetCall(0)"}


def test_a_token_that_a_chain_is_not_the_origin_of_is_not_registered_by_it(
    chains: Deployed,
) -> None:
    asset = asset_id(L2_TOKEN, OTHER_CHAIN_ID)
    call = transfer(asset, L2_TOKEN, 5)
    settle(chains, bundles=(PlainBundle(calls=[call], base_token=ETHER_ID),))
    assert left_out_for(chains) == ["AssetIdNotSupported"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"source": OTHER_CHAIN_ID}, "WrongSourceChain"),
        ({"destination": CHAIN_ID}, "InvalidDestination"),
        ({"destination": L1_CHAIN_ID}, "InvalidDestination"),
        ({"destination": 999}, "InvalidDestination"),
        ({"base_token": asset_id(L2_TOKEN)}, "WrongDestinationBaseToken"),
        ({"version": b"\2"}, "UnsupportedBundleVersion"),
        ({"calls": [Call(to=BOB, sender=ALICE, version=b"\2")]}, "UnsupportedBundleVersion"),
        (
            {"calls": [Call(to=BOB, sender=ALICE, shadow_account=True)]},
            "ShadowAccountsNotSupported",
        ),
        ({"calls": [Call(to=L2_ASSET_ROUTER, sender=L2_ASSET_ROUTER)]}, "InvalidAssetCall"),
        (
            {"calls": [Call(to=L2_ASSET_ROUTER, sender=L2_ASSET_ROUTER, data=b"\1\2\3\4")]},
            "InvalidAssetCall",
        ),
        ({"calls": [transfer(ETHER_ID, ETH_TOKEN, 1, OTHER_CHAIN_ID)]}, "WrongSourceChain"),
    ],
)
def test_a_bundle_that_lies_is_left_out(
    chains: Deployed, change: dict[str, object], error: str
) -> None:
    settle(chains, bundles=(replace(ether(1), **change),))  # type: ignore[arg-type]
    assert left_out_for(chains) == [error]
    assert appended(chains) == root_of([NO_LOG])


def test_no_bundle_of_a_batch_can_be_left_out_added_or_replaced(chains: Deployed) -> None:
    bundle, other = ether(1), ether(2)
    logs = (bundle.log(),)
    number = chains.settle(*logs)
    for messages, error in (
        ([], "BundlesMismatch"),
        ([bundle.message(), other.message()], "BundlesMismatch"),
        ([other.message()], "BundleHashMismatch"),
    ):
        with pytest.raises(Reverted, match=error):
            add(chains, number, logs, messages)


def test_no_log_of_a_batch_can_be_left_out(chains: Deployed) -> None:
    bundle = ether(1)
    logs = (message_log(0, BOB, b"hello"), bundle.log(1))
    number = chains.settle(*logs)
    with pytest.raises(Reverted, match="LogsRootMismatch"):
        add(chains, number, logs[:1], [])
    with pytest.raises(Reverted, match="InvalidLogsLength"):
        chains.engine.send(BOB, chains.message_root, "settle", CHAIN_ID, number, b"\0", [])


@pytest.mark.parametrize("count", [1, 3])
def test_no_empty_log_is_added_to_those_of_a_batch(chains: Deployed, count: int) -> None:
    logs = (message_log(0, BOB, b""),)
    number = chains.settle(*logs)
    packed = logs[0].pack() + bytes(88 * count)
    with pytest.raises(Reverted, match="LogIsEmpty"):
        chains.engine.send(BOB, chains.message_root, "settle", CHAIN_ID, number, packed, [])


def test_messages_of_others_are_no_bundles(chains: Deployed) -> None:
    message = ether(2 * ETHER).message()
    settle(chains, message_log(0, BOB, message))
    assert balance(chains, OTHER_CHAIN_ID) == 0


def test_a_batch_is_executed_before_its_root_is_added(chains: Deployed) -> None:
    with pytest.raises(Reverted, match="BatchNotExecuted"):
        add(chains, 1, (), [])
    with pytest.raises(Reverted, match="BatchNotExecuted"):
        add(chains, 0, (), [])


def test_only_registered_chains_have_roots(l1: Deployed) -> None:
    with pytest.raises(Reverted, match="ChainNotRegistered"):
        l1.engine.send(BOB, l1.message_root, "settle", OTHER_CHAIN_ID, 1, b"", [])
    with pytest.raises(Reverted, match="ChainNotRegistered"):
        l1.engine.read(l1.message_root, "getChainRoot", OTHER_CHAIN_ID)
    for caller in (DEPLOYER, ALICE):
        with pytest.raises(Reverted, match="Unauthorized"):
            l1.engine.send(caller, l1.message_root, "addNewChain", OTHER_CHAIN_ID)


def known_root(l1: Deployed) -> tuple[object, ...]:
    settle(l1)
    return (L1_CHAIN_ID, 1, NOW, [aggregated(l1)])


def test_roots_that_l1_had_are_hashed_in_order(l1: Deployed) -> None:
    root = known_root(l1)
    found = bytes(l1.engine.read(l1.message_root, "checkRoots", [root, root]))
    words = L1_CHAIN_ID.to_bytes(32) + (1).to_bytes(32) + NOW.to_bytes(32) + aggregated(l1)
    assert found == keccak256(keccak256(bytes(32) + words) + words)
    assert bytes(l1.engine.read(l1.message_root, "checkRoots", [])) == bytes(32)


@pytest.mark.parametrize("place", range(4))
def test_a_root_that_l1_never_had_is_rejected(l1: Deployed, place: int) -> None:
    root = list(known_root(l1))
    root[place] = [bytes(32)] if place == 3 else root[place] + 1  # type: ignore[operator]
    with pytest.raises(Reverted, match="InteropRootMismatch"):
        l1.engine.read(l1.message_root, "checkRoots", [tuple(root)])


@pytest.mark.parametrize("sides", [[], [bytes(32)], [bytes(32)] * 2])
def test_a_block_without_a_root_has_none_to_import(l1: Deployed, sides: list[bytes]) -> None:
    with pytest.raises(Reverted, match="InteropRootMismatch"):
        l1.engine.read(l1.message_root, "checkRoots", [(L1_CHAIN_ID, 7, 0, sides)])
