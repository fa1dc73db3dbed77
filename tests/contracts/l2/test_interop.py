"""Bundles from one L2 to another: what is sent, what is proven, and what the destination executes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from eth_abi import abi

from entresol._native import keccak256
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import NONCE_HOLDER
from tests.support.contracts.bundles import Call, PlainBundle
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, NOW, Contract, Reverted, alias, find
from tests.support.contracts.interop_chains import (
    BOOTLOADER,
    CANCEL,
    CAROL,
    EXECUTE,
    FEE,
    HANDLER,
    HELD,
    HOLDER,
    L1_ASSET,
    L1_ROUTER,
    REGISTRAR,
    SKIP,
    ZOO,
    Sent,
    Street,
    anywhere,
    asset,
    attribute,
    chain_only,
    deposit,
    on_chain,
    starter,
    status,
    unbundle,
    verified,
)
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    L2_ASSET_ROUTER,
    OTHER_CHAIN_ID,
    asset_id,
    burn_data,
)


@pytest.fixture
def street() -> Street:
    return Street()


@pytest.fixture
def tokens() -> Street:
    """Return a chain that is paid in ether, and one that is paid in a token of L1."""
    return Street(ZOO)


# --- Values and messages ---


def test_a_contract_gets_the_message_and_who_sent_it(street: Street) -> None:
    recipient = street.recipient()
    sent = street.here.send(starter(recipient.address, b"hello", value=7), value=7)
    street.deliver(sent)
    read = street.there.engine.read
    assert read(recipient, "sender") == on_chain(CHAIN_ID, ALICE)
    assert read(recipient, "payload") == b"hello"
    assert read(recipient, "receiveId") == keccak256(sent.bundle_hash + bytes(32))
    assert street.there.engine.balance(recipient.address) == 7


def test_a_message_is_a_bundle_of_one_call(street: Street) -> None:
    recipient = street.recipient()
    here = street.here
    attributes = [
        attribute("useFixedFee(bool)", value=False),
        attribute("interopCallValue(uint256)", 5),
        attribute("executionAddress(bytes)", BOB),
    ]
    here.engine.send(
        ALICE, here.center, "sendMessage",
        on_chain(OTHER_CHAIN_ID, recipient.address), b"hi", attributes, value=FEE + 5,
    )  # fmt: skip
    event = here.engine.event(here.center, "InteropBundleSent")
    street.deliver(here.sent(event.fields["interopBundleHash"]))
    assert street.there.engine.read(recipient, "payload") == b"hi"
    assert street.there.engine.balance(recipient.address) == 5


def test_the_events_of_a_bundle_come_in_the_order_that_clients_count_on(street: Street) -> None:
    here = street.here
    sent = here.send(starter(CAROL), starter(BOB))
    known = here.engine.events(here.messenger, here.center)
    assert [it.name for it in known] == [
        "L1MessageSent", "MessageSent", "MessageSent", "InteropBundleSent",
    ]  # fmt: skip
    last = known[-1]
    assert len(last.topics) == 1
    assert last.fields["l2l1MsgHash"] == keccak256(b"\1" + sent.bundle)
    assert last.fields["interopBundleHash"] == sent.bundle_hash
    assert sent.bundle_hash == keccak256(abi.encode(["uint256", "bytes"], [CHAIN_ID, sent.bundle]))


def returned(street: Street, asset_: Hash32, amount: int, receiver: Address) -> None:
    inner = burn_data(amount, receiver, Address.zero())
    data = b"\1" + abi.encode(["bytes32", "bytes"], [asset_, inner])
    call = starter(L2_ASSET_ROUTER, data, indirect=0)
    street.deliver(street.there.send(call, to=CHAIN_ID, sender=BOB))


def test_a_token_of_l1_crosses_and_returns(street: Street) -> None:
    deposit(street.here, 100)
    token = Address.parse(street.here.engine.read(street.here.vault, "tokenAddress", L1_ASSET))
    street.deliver(street.here.send(asset(L1_ASSET, 40, token)))
    assert street.here.token_balance(L1_ASSET, ALICE) == 60
    assert street.there.token_balance(L1_ASSET, BOB) == 40
    returned(street, L1_ASSET, 10, ALICE)
    assert street.here.token_balance(L1_ASSET, ALICE) == 70
    assert street.there.token_balance(L1_ASSET, BOB) == 30


def test_a_token_of_an_l2_crosses_and_returns_to_its_origin(street: Street) -> None:
    here = street.here
    token = here.engine.deploy("TestERC20", "Own", "OWN", 18, sender=ALICE)
    own = asset_id(token.address, CHAIN_ID)
    here.engine.send(ALICE, token, "mint", ALICE, 100)
    here.engine.send(ALICE, token, "approve", here.vault.address, 100)
    here.engine.send(BOB, here.vault, "ensureTokenIsRegistered", token.address)
    street.deliver(here.send(asset(own, 40, token.address)))
    assert here.engine.read(token, "balanceOf", here.vault.address) == 40
    assert street.there.token_balance(own, BOB) == 40
    returned(street, own, 40, CAROL)
    assert here.engine.read(token, "balanceOf", CAROL) == 40


def test_ether_crosses_to_where_it_is_a_token_and_returns_as_a_value(tokens: Street) -> None:
    ether = tokens.here.base_asset
    tokens.deliver(tokens.here.send(asset(ether, 9, tokens.here.base_token, value=9), value=9))
    assert tokens.here.engine.balance(HOLDER) == HELD + 9 + FEE
    tokens.deliver(tokens.there.send(starter(CAROL, value=4), to=CHAIN_ID, sender=BOB))
    assert tokens.there.token_balance(ether, BOB) == 5
    assert tokens.here.engine.balance(CAROL) == 4


def test_ether_is_not_sent_as_an_asset_to_where_it_pays_for_gas(tokens: Street) -> None:
    ether = tokens.here.base_asset
    tokens.deliver(tokens.here.send(asset(ether, 9, tokens.here.base_token, value=9), value=9))
    with pytest.raises(Reverted, match="AssetIdNotSupported"):
        tokens.there.send(asset(ether, 9, Address.zero()), to=CHAIN_ID, sender=BOB)


def test_a_call_with_value_to_a_chain_with_another_base_token_needs_that_token(
    tokens: Street,
) -> None:
    with pytest.raises(Reverted):
        tokens.here.send(starter(CAROL, value=4))
    deposit(tokens.here, 10, ZOO)
    tokens.deliver(tokens.here.send(starter(CAROL, value=4)))
    assert tokens.here.token_balance(asset_id(ZOO), ALICE) == 6
    assert tokens.there.engine.balance(CAROL) == 4


@pytest.mark.parametrize("value", [8, 10])
def test_an_asset_that_pays_for_gas_comes_with_its_value(tokens: Street, value: int) -> None:
    call = asset(tokens.here.base_asset, 9, tokens.here.base_token, value=value)
    with pytest.raises(Reverted, match="ValueMismatch"):
        tokens.here.send(call, value=value)


# --- What is not sent ---


def test_other_value_than_calls_and_fees_need_is_rejected(street: Street) -> None:
    for value in (0, 2, 4):
        with pytest.raises(Reverted, match="MsgValueMismatch"):
            street.here.send(starter(CAROL, value=3), value=value)


@pytest.mark.parametrize("destination", [CHAIN_ID, L1_CHAIN_ID, 999, 0])
def test_bundles_go_to_chains_that_are_registered(street: Street, destination: int) -> None:
    with pytest.raises(Reverted, match="DestinationChainNotRegistered"):
        street.here.send(starter(CAROL), to=destination)


def test_bundles_have_calls_and_not_too_many(street: Street) -> None:
    with pytest.raises(Reverted, match="EmptyBundle"):
        street.here.send()
    with pytest.raises(Reverted, match="TooManyCalls"):
        street.here.send(*[starter(CAROL)] * 65)
    with pytest.raises(Reverted, match="BundleTooLarge"):
        street.here.send(starter(CAROL, bytes(100_000)))


def test_the_values_of_a_bundle_are_bounded_together(street: Street) -> None:
    street.here.engine.overlay.set_balance(ALICE, 2**129)
    with pytest.raises(Reverted, match=f"AmountTooLarge.{2**128}"):
        street.here.send(*[starter(CAROL, value=2**127)] * 2, value=2**128)
    street.here.send(starter(CAROL, value=2**128 - 1), value=2**128 - 1)


@pytest.mark.parametrize(
    "to",
    [
        b"",
        CAROL[:19],
        chain_only(OTHER_CHAIN_ID),
        on_chain(CHAIN_ID, CAROL),
        anywhere(HANDLER),
        anywhere(Address.zero()),
        anywhere(CAROL) + b"\0",
        anywhere(CAROL)[:-1],
        b"\0\2" + anywhere(CAROL)[2:],
        b"\0\1\0\1" + anywhere(CAROL)[4:],
        bytes.fromhex("0001000021") + bytes(33) + b"\x14" + CAROL,
        bytes.fromhex("00010000ff"),
    ],
)
def test_a_recipient_that_is_none_is_rejected_when_it_is_sent(street: Street, to: bytes) -> None:
    with pytest.raises(Reverted, match=r"InvalidRecipient|InvalidInteroperableAddress"):
        street.here.send((to, b"", []))


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        ([b"\1\2\3\4"], "UnsupportedAttribute"),
        ([b""], "UnsupportedAttribute"),
        ([attribute("interopCallValue(uint256)", 0)], "UnsupportedAttribute"),
        ([attribute("useFixedFee(bool)", value=True)], "FixedFeeNotSupported"),
        ([attribute("useFixedFee(bool)", value=False)] * 2, "AttributeRepeated"),
        ([attribute("executionAddress(bytes)", CAROL)] * 2, "AttributeRepeated"),
        ([attribute("executionAddress(bytes)", b"\1" * 21)], "InvalidInteroperableAddress"),
        ([attribute("unbundlerAddress(bytes)", b"")], "InvalidInteroperableAddress"),
        ([attribute("unbundlerAddress(bytes)", chain_only(7))], "AttributeMalformed"),
        ([attribute("unbundlerAddress(bytes)", CAROL)[:40]], "AttributeMalformed"),
    ],
)
def test_attributes_that_cannot_be_kept_are_rejected_when_they_are_sent(
    street: Street, attributes: list[bytes], error: str
) -> None:
    with pytest.raises(Reverted, match=error):
        street.here.send(starter(CAROL), attributes=attributes)


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        ([attribute("interopCallValue(uint256)", 0)] * 2, "AttributeRepeated"),
        ([attribute("indirectCall(uint256)", 0)] * 2, "AttributeRepeated"),
        ([attribute("useFixedFee(bool)", value=False)], "UnsupportedAttribute"),
        ([attribute("interopCallValue(uint256)", 0)[:35]], "AttributeMalformed"),
    ],
)
def test_attributes_of_a_call_are_its_own(
    street: Street, attributes: list[bytes], error: str
) -> None:
    with pytest.raises(Reverted, match=error):
        street.here.send((anywhere(CAROL), b"", attributes))


# --- What is not executed ---


def test_a_bundle_is_executed_once(street: Street) -> None:
    sent = street.here.send(starter(CAROL, value=3), value=3)
    proof = street.arrive(sent)
    street.there.execute(sent, proof)
    with pytest.raises(Reverted, match="BundleAlreadyProcessed"):
        street.there.execute(sent, proof)
    with pytest.raises(Reverted, match="BundleAlreadyProcessed"):
        street.there.engine.send(BOB, street.there.handler, "verifyBundle", sent.bundle, proof)


def test_a_bundle_is_not_executed_before_its_root_has_arrived(street: Street) -> None:
    sent = street.here.send(starter(CAROL))
    street.l1.add(sent)
    with pytest.raises(Reverted, match="MessageNotIncluded"):
        street.there.execute(sent, street.l1.proof(sent))


def test_every_word_of_a_proof_counts(street: Street) -> None:
    sent = street.here.send(starter(CAROL))
    street.l1.add(street.here.send(starter(BOB)))
    street.l1.add(sent)
    street.there.import_root(street.l1.root)
    source, batch, index, message, words = street.l1.proof(sent, 2)
    for place in range(len(words)):
        changed = list(words)
        changed[place] = bytes([words[place][0] ^ 1]) + words[place][1:]
        with pytest.raises(Reverted):
            street.there.execute(sent, (source, batch, index, message, changed))
    for other in (words[:-1], words[1:], [*words, bytes(32)], words[:16], []):
        with pytest.raises(Reverted):
            street.there.execute(sent, (source, batch, index, message, other))
    for place, value in ((1, batch + 1), (2, index + 1)):
        proof = [source, batch, index, message, words]
        proof[place] = value
        with pytest.raises(Reverted):
            street.there.execute(sent, tuple(proof))
    street.there.execute(sent, (source, batch, index, message, words))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"destination": CHAIN_ID}, "WrongDestinationChain"),
        ({"source": OTHER_CHAIN_ID}, "WrongSourceChain"),
        ({"base_token": asset_id(ZOO)}, "WrongDestinationBaseToken"),
        ({"version": b"\2"}, "UnsupportedBundleVersion"),
        ({"calls": [Call(to=CAROL, sender=ALICE, version=b"\0")]}, "UnsupportedBundleVersion"),
        ({"calls": [Call(to=CAROL, sender=ALICE, shadow_account=True)]}, "ShadowAccounts"),
        ({"calls": [Call(to=HANDLER, sender=ALICE)]}, "InvalidCallTarget"),
        ({"calls": [Call(to=CAROL, sender=ALICE, data=b"x")]}, "NoCodeAtTarget"),
    ],
)
def test_a_bundle_that_is_not_for_this_chain_or_malformed_is_rejected(
    street: Street, change: dict[str, Any], error: str
) -> None:
    bundle = PlainBundle(calls=[Call(to=CAROL, sender=ALICE)], base_token=street.there.base_asset)
    encoded = replace(bundle, **change).encode()
    sent = Sent(keccak256(abi.encode(["uint256", "bytes"], [CHAIN_ID, encoded])), encoded, CHAIN_ID)
    with pytest.raises(Reverted, match=error):
        street.deliver(sent)


def test_a_bundle_of_this_chain_or_of_l1_is_rejected(street: Street) -> None:
    for source in (OTHER_CHAIN_ID, L1_CHAIN_ID):
        encoded = PlainBundle(
            calls=[Call(to=CAROL, sender=ALICE)], base_token=street.there.base_asset, source=source
        ).encode()
        message = (0, Address((0x1000D).to_bytes(20)), b"\1" + encoded)
        with pytest.raises(Reverted, match="InvalidSourceChain"):
            street.there.execute(Sent(b"", encoded, source), (source, 1, 0, message, []))


def test_a_bundle_that_another_sender_or_message_carries_is_rejected(street: Street) -> None:
    sent = street.here.send(starter(CAROL))
    source, batch, index, message, words = street.arrive(sent)
    with pytest.raises(Reverted, match="MessageNotOfInteropCenter"):
        street.there.execute(sent, (source, batch, index, (0, ALICE, message[2]), words))
    for data in (sent.bundle, b"\1" + sent.bundle + b"\0", b""):
        with pytest.raises(Reverted, match="MessageNotOfBundle"):
            street.there.execute(sent, (source, batch, index, (0, message[1], data), words))


@pytest.mark.parametrize("way", ["answer", "revert", "loop"])
def test_a_bundle_is_executed_whole_or_not_at_all(street: Street, way: str) -> None:
    recipient = street.recipient()
    engine = street.there.engine
    if way == "loop":
        engine.send(BOB, recipient, "loop")
    else:
        engine.send(BOB, recipient, "answer", b"\1\2\3\4" if way == "answer" else bytes(4))
    sent = street.here.send(starter(CAROL, value=3), starter(recipient.address), value=3)
    with pytest.raises(Reverted):
        street.deliver(sent)
    assert engine.balance(CAROL) == 0
    assert status(street, sent) == 0


def test_a_target_that_executes_its_own_bundle_again_is_rejected(street: Street) -> None:
    recipient = street.recipient()
    sent = street.here.send(starter(recipient.address))
    proof = street.arrive(sent)
    handler, engine = street.there.handler, street.there.engine
    again = handler.encode("executeBundle", sent.bundle, proof)
    engine.send(BOB, recipient, "callBack", HANDLER, again)
    with pytest.raises(Reverted, match="BundleAlreadyProcessed"):
        street.there.execute(sent, proof)


def test_only_who_is_named_executes(street: Street) -> None:
    for named in (CAROL, anywhere(CAROL), on_chain(OTHER_CHAIN_ID, CAROL)):
        sent = street.here.send(
            starter(BOB), attributes=[attribute("executionAddress(bytes)", named)]
        )
        proof = street.arrive(sent)
        with pytest.raises(Reverted, match="ExecutingNotAllowed"):
            street.there.execute(sent, proof, BOB)
        street.there.engine.overlay.set_balance(CAROL, ETHER)
        street.there.execute(sent, proof, CAROL)


def test_the_name_of_an_executor_on_another_chain_is_nobody_here(street: Street) -> None:
    encoded = PlainBundle(
        calls=[Call(to=CAROL, sender=ALICE)],
        base_token=street.there.base_asset,
        attributes=(on_chain(CHAIN_ID, BOB), b"", False),
    ).encode()
    sent = Sent(b"", encoded, CHAIN_ID)
    with pytest.raises(Reverted, match="ExecutingNotAllowed"):
        street.deliver(sent, BOB)


def test_a_verified_bundle_is_executed_without_its_proof(street: Street) -> None:
    sent = verified(street, starter(CAROL, value=3), value=3)
    message = (0, Address.zero(), b"")
    street.there.execute(sent, (CHAIN_ID, 0, 0, message, []))
    assert street.there.engine.balance(CAROL) == 3


def test_calls_are_executed_skipped_and_cancelled_one_by_one(street: Street) -> None:
    calls = [starter(CAROL, value=number) for number in (1, 2, 4)]
    sent = verified(street, *calls, value=7)
    unbundle(street, sent, EXECUTE, SKIP, CANCEL)
    assert street.there.engine.balance(CAROL) == 1
    read = street.there.engine.read
    found = [
        read(street.there.handler, "callStatus", sent.bundle_hash, number) for number in range(3)
    ]
    assert found == [1, 0, 2]
    assert status(street, sent) == 3
    unbundle(street, sent, SKIP, EXECUTE, SKIP)
    assert street.there.engine.balance(CAROL) == 3


@pytest.mark.parametrize("again", [EXECUTE, CANCEL])
@pytest.mark.parametrize("first", [EXECUTE, CANCEL])
def test_a_call_is_processed_once(street: Street, first: int, again: int) -> None:
    sent = verified(street, starter(CAROL, value=1), value=1)
    unbundle(street, sent, first)
    with pytest.raises(Reverted, match="CallAlreadyProcessed"):
        unbundle(street, sent, again)
    with pytest.raises(Reverted, match="BundleAlreadyProcessed"):
        street.there.execute(sent, (CHAIN_ID, 0, 0, (0, Address.zero(), b""), []))


def test_a_bundle_is_verified_before_its_calls_are_divided(street: Street) -> None:
    sent = street.here.send(starter(CAROL))
    with pytest.raises(Reverted, match="BundleNotVerified"):
        unbundle(street, sent, EXECUTE)


def test_an_executed_bundle_is_not_divided(street: Street) -> None:
    sent = street.here.send(starter(CAROL))
    street.deliver(sent)
    with pytest.raises(Reverted, match="BundleNotVerified"):
        unbundle(street, sent, EXECUTE)


def test_only_the_sender_divides_unless_somebody_is_named(street: Street) -> None:
    sent = verified(street, starter(CAROL))
    with pytest.raises(Reverted, match="UnbundlingNotAllowed"):
        unbundle(street, sent, CANCEL, sender=BOB)
    named = verified(street, starter(CAROL), attributes=[attribute("unbundlerAddress(bytes)", BOB)])
    with pytest.raises(Reverted, match="UnbundlingNotAllowed"):
        unbundle(street, named, CANCEL, sender=ALICE)
    unbundle(street, named, CANCEL, sender=BOB)


def test_nobody_divides_the_bundle_of_a_contract_because_of_its_address(street: Street) -> None:
    street.here.engine.overlay.set_code(ALICE, b"\0")
    sent = verified(street, starter(CAROL))
    with pytest.raises(Reverted, match="UnbundlingNotAllowed"):
        unbundle(street, sent, CANCEL)


def test_each_call_has_a_status(street: Street) -> None:
    sent = verified(street, starter(CAROL), starter(CAROL))
    for statuses in ([], [EXECUTE], [EXECUTE] * 3):
        with pytest.raises(Reverted, match="WrongCallStatusLength"):
            unbundle(street, sent, *statuses)


# --- Who may call what ---


@pytest.mark.parametrize("sender", [ALICE, REGISTRAR, BOOTLOADER, L1_ROUTER, alias(L1_ROUTER)])
def test_a_stranger_may_not_call(street: Street, sender: Address) -> None:
    here, guarded = street.here, "finalizeDeposit(uint256,bytes32,bytes)"
    nonces = Contract(NONCE_HOLDER, find("NonceHolder"))
    for contract, function in (
        *((here.hub, "registerChainForInterop"), (here.roots, "addInteropRootsInBatch")),
        *((here.vault, "bridgeMint"), (here.vault, "bridgeBurn"), (here.router, guarded)),
        *((here.router, "initiateIndirectCall"), (here.router, "burnBaseTokenOf")),
        *((here.router, "receiveMessage"), (nonces, "incrementDeploymentNonce")),
        *((here.center, "setInteropFee"), (here.holder, "give")),
    ):
        if (sender, function) in (
            (BOOTLOADER, "addInteropRootsInBatch"),
            (alias(L1_ROUTER), guarded),
        ):
            continue
        with pytest.raises(Reverted, match="Unauthorized"):
            here.engine.send(sender, contract, function, *contract.defaults(function))


@pytest.mark.parametrize(
    ("root", "error"),
    [
        ((9, 1, NOW, []), "SidesLengthNotOne"),
        ((9, 1, NOW, [b"\1" * 32] * 2), "SidesLengthNotOne"),
        ((9, 1, NOW, [bytes(32)]), "InteropRootIsZero"),
        ((9, 1, 0, [b"\1" * 32]), "InteropTimestampIsZero"),
        ((L1_CHAIN_ID, 1, NOW, [b"\2" * 32]), "InteropRootAlreadyExists"),
    ],
)
def test_a_root_that_is_none_or_known_is_not_imported(
    street: Street, root: tuple[Any, ...], error: str
) -> None:
    street.here.import_root(b"\1" * 32)
    with pytest.raises(Reverted, match=error):
        street.here.engine.send(BOOTLOADER, street.here.roots, "addInteropRootsInBatch", [root])


def test_the_holder_gives_to_the_handler_and_takes_from_those_that_burn(street: Street) -> None:
    engine = street.here.engine
    with pytest.raises(Reverted, match="Unauthorized"):
        engine.send(ALICE, street.here.holder, "give", 1)
    for target in (HOLDER, HANDLER):
        with pytest.raises(Reverted, match="Unauthorized"):
            engine.send_data(ALICE, target, b"", 1)


def test_l1_alone_sets_what_a_call_costs(street: Street) -> None:
    here = street.here
    for sender in (ALICE, BOOTLOADER, REGISTRAR):
        with pytest.raises(Reverted, match="Unauthorized"):
            here.engine.send(sender, here.center, "setInteropFee", 7)
    here.engine.send(alias(REGISTRAR), here.center, "setInteropFee", 7)
    (event,) = here.engine.events(here.center)
    assert event.fields == {"oldFee": FEE, "newFee": 7}
    assert here.engine.read(here.center, "interopProtocolFee") == 7


@pytest.mark.parametrize(
    ("sender", "payload", "error"),
    [
        (on_chain(CHAIN_ID, ALICE), b"", "WrongSender"),
        (on_chain(L1_CHAIN_ID, L2_ASSET_ROUTER), b"", "WrongSender"),
        (on_chain(CHAIN_ID, L2_ASSET_ROUTER), b"\1\2\3\4", "WrongSelector"),
        (on_chain(CHAIN_ID, L2_ASSET_ROUTER), b"", "WrongSelector"),
        (
            on_chain(CHAIN_ID, L2_ASSET_ROUTER),
            bytes.fromhex("9c884fd1")
            + abi.encode(["uint256", "bytes32", "bytes"], [7, L1_ASSET, b""]),
            "WrongSourceChain",
        ),
    ],
)
def test_the_router_takes_only_assets_that_a_router_has_sent(
    street: Street, sender: bytes, payload: bytes, error: str
) -> None:
    engine = street.there.engine
    engine.overlay.set_balance(HANDLER, ETHER)
    with pytest.raises(Reverted, match=error):
        engine.send(HANDLER, street.there.router, "receiveMessage", bytes(32), sender, payload)


def test_a_bundle_that_forges_an_asset_of_the_router_is_one_of_its_sender(street: Street) -> None:
    data = bytes.fromhex("9c884fd1") + abi.encode(
        ["uint256", "bytes32", "bytes"], [CHAIN_ID, L1_ASSET, b""]
    )
    with pytest.raises(Reverted, match="WrongSender"):
        street.deliver(street.here.send(starter(L2_ASSET_ROUTER, data)))
