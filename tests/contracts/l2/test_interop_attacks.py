"""Attacks on bundles between L2s: by who sends, who executes and who takes them, and by how they are encoded."""

from __future__ import annotations

import pytest
from eth_abi import abi

from entresol._native import keccak256
from entresol.primitives.values import Address, create_address
from entresol.rollup.system_contracts import MULTICALL
from tests.support.contracts.bundles import INTEROP_CENTER, Call, PlainBundle, asset_call, mint_of
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, NOW, Contract, Reverted, alias, find
from tests.support.contracts.interop_chains import (
    BOOTLOADER,
    CANCEL,
    CAROL,
    EXECUTE,
    FEE,
    HANDLER,
    HOLDER,
    L1_TOKEN,
    REGISTRAR,
    ZOO,
    Sent,
    Street,
    anywhere,
    attribute,
    chain_only,
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
)

DELEGATION = bytes.fromhex("ef0100") + b"\xdd" * 20


@pytest.fixture
def street() -> Street:
    return Street()


def forged(
    street: Street, *calls: Call, attributes: tuple[bytes, bytes, bool] | None = None
) -> Sent:
    """Return a bundle that a chain which lies has sent."""
    made = PlainBundle(
        calls=calls,
        base_token=street.there.base_asset,
        attributes=(b"", anywhere(ALICE), False) if attributes is None else attributes,
    )
    encoded = made.encode()
    return Sent(keccak256(abi.encode(["uint256", "bytes"], [CHAIN_ID, encoded])), encoded, CHAIN_ID)


def calling(target: Address, data: bytes, value: int = 0) -> bytes:
    """Return code that makes one call, and reverts with what that reverted with."""
    head = (
        b"\x61" + len(data).to_bytes(2) + b"\x61\0\0\x5f\x39"  # codecopy
        b"\x5f\x5f\x61" + len(data).to_bytes(2) + b"\x5f\x67" + value.to_bytes(8)
        + b"\x73" + target + b"\x5a\xf1"  # call
    )  # fmt: skip
    head += b"\x60" + bytes([len(head) + 10]) + b"\x57"
    head += b"\x3d\x5f\x5f\x3e\x3d\x5f\xfd"  # revert with the return data
    head += b"\x5b\x00"
    code = bytearray(head)
    code[4:6] = len(head).to_bytes(2)
    return bytes(code) + data


def test_the_sender_divides_its_bundle_also_if_it_delegates_to_code(street: Street) -> None:
    street.here.engine.overlay.set_code(ALICE, DELEGATION)
    sent = verified(street, starter(CAROL, value=1), value=1)
    unbundle(street, sent, EXECUTE)
    assert street.there.engine.balance(CAROL) == 1


def test_nobody_divides_the_bundle_that_a_contract_sends_while_it_is_constructed(
    street: Street,
) -> None:
    here = street.here
    data = here.center.encode("sendBundle", chain_only(OTHER_CHAIN_ID), [starter(CAROL)], [])
    contract = create_address(ALICE, here.engine.nonce(ALICE))
    here.engine.send_data(ALICE, None, calling(INTEROP_CENTER, data, FEE), FEE)
    sent = here.sent(b"")
    assert on_chain(CHAIN_ID, contract) in sent.bundle
    assert anywhere(contract) not in sent.bundle


@pytest.mark.parametrize(
    "number", [b"\0" + CHAIN_ID.to_bytes(2), OTHER_CHAIN_ID.to_bytes(32), b"\0", bytes(32)]
)
def test_a_chain_has_one_encoding(street: Street, number: bytes) -> None:
    chain = bytes.fromhex("00010000") + bytes([len(number)]) + number
    for to, attributes in (
        (chain + b"\x14" + CAROL, []),
        (anywhere(CAROL), [attribute("executionAddress(bytes)", chain + b"\x14" + CAROL)]),
        (anywhere(CAROL), [attribute("unbundlerAddress(bytes)", chain + b"\x14" + CAROL)]),
    ):
        with pytest.raises(Reverted, match="InvalidInteroperableAddress"):
            street.here.send((to, b"", []), attributes=attributes)
    with pytest.raises(Reverted, match="InvalidInteroperableAddress"):
        street.here.engine.send(
            ALICE, street.here.center, "sendBundle", chain + b"\0", [starter(CAROL)], [], value=FEE
        )


@pytest.mark.parametrize("name", ["executionAddress(bytes)", "unbundlerAddress(bytes)"])
def test_an_attribute_has_one_encoding(street: Street, name: str) -> None:
    plain = attribute(name, CAROL)
    moved = plain[:4] + (64).to_bytes(32) + bytes(32) + plain[36:]
    dirty = plain[:-1] + b"\1"
    for it in (plain + bytes(32), plain + b"\0", moved, dirty):
        with pytest.raises(Reverted, match="AttributeMalformed"):
            street.here.send(starter(CAROL), attributes=[it])


@pytest.mark.parametrize("name", ["executionAddress(bytes)", "unbundlerAddress(bytes)"])
@pytest.mark.parametrize("nobody", [bytes(20), anywhere(Address.zero())])
def test_nobody_is_not_named_to_execute_or_divide_a_bundle(
    street: Street, name: str, nobody: bytes
) -> None:
    with pytest.raises(Reverted, match="InvalidInteroperableAddress"):
        street.here.send(starter(CAROL), attributes=[attribute(name, nobody)])


@pytest.mark.parametrize("named", [CHAIN_ID, L1_CHAIN_ID, 999])
def test_an_executor_on_a_chain_that_is_not_the_destination_is_rejected_when_it_is_named(
    street: Street, named: int
) -> None:
    executor = attribute("executionAddress(bytes)", on_chain(named, BOB))
    with pytest.raises(Reverted, match="InvalidExecutor"):
        street.here.send(starter(CAROL), attributes=[executor])


def test_a_bundle_whose_unbundler_is_none_is_executed_but_not_divided(street: Street) -> None:
    sent = forged(street, Call(to=CAROL, sender=ALICE, value=1), attributes=(b"", b"", False))
    proof = street.arrive(sent)
    street.there.engine.send(BOB, street.there.handler, "verifyBundle", sent.bundle, proof)
    with pytest.raises(Reverted, match="InvalidInteroperableAddress"):
        unbundle(street, sent, CANCEL)
    street.there.execute(sent, proof)


def test_no_bit_of_a_position_is_beyond_its_path(street: Street) -> None:
    sent = street.here.send(starter(CAROL))
    source, batch, index, message, words = street.arrive(sent)
    with pytest.raises(Reverted, match="MerkleIndexOutOfBounds"):
        street.there.execute(sent, (source, batch, index + (1 << 15), message, words))
    for place, bit in ((17, 0), (17, 255), (18, 2), (18, 127)):
        changed = list(words)
        changed[place] = (int.from_bytes(words[place]) | 1 << bit).to_bytes(32)
        with pytest.raises(Reverted, match="MerkleIndexOutOfBounds"):
            street.there.execute(sent, (source, batch, index, message, changed))
    street.there.execute(sent, (source, batch, index, message, words))


def test_paths_of_other_lengths_prove_nothing(street: Street) -> None:
    sent = street.here.send(starter(CAROL))
    source, batch, _, message, words = street.arrive(sent)
    tail = words[16:]
    for length in range(15):
        head = bytes([1, length, 0, 0]) + bytes(28)
        shorter = [head, *words[1 : 1 + length], *tail]
        with pytest.raises(Reverted, match="MessageNotIncluded"):
            street.there.execute(sent, (source, batch, 0, message, shorter))
    ending = [*words[:20], bytes([1, 0, 0, 1]) + bytes(28)]
    ending[18] = (1 << 128).to_bytes(32)
    with pytest.raises(Reverted, match="MessageNotIncluded"):
        street.there.execute(sent, (source, batch, 0, message, ending))


def test_neither_l1_nor_a_block_without_a_root_proves_a_message(street: Street) -> None:
    sent = street.here.send(starter(CAROL))
    source, batch, index, message, words = street.arrive(sent)
    proves = "proveL2MessageInclusionShared"
    there = street.there
    assert there.engine.read(there.verification, proves, source, batch, index, message, words)
    for chain in (L1_CHAIN_ID, OTHER_CHAIN_ID, 0):
        assert not there.engine.read(
            there.verification, proves, chain, batch, index, message, words
        )
    for place, word in ((18, 1), (18, 7 << 128 | 1), (19, CHAIN_ID), (19, 0)):
        changed = list(words)
        changed[place] = word.to_bytes(32)
        assert not there.engine.read(
            there.verification, proves, source, batch, index, message, changed
        )


def test_a_log_of_any_chain_is_proven_but_an_empty_leaf_is_none(street: Street) -> None:
    sent = street.here.send(starter(CAROL))
    source, batch, index, _, words = street.arrive(sent)
    there, proves = street.there, "proveL2LogInclusionShared"
    log = sent.log.pack()
    parts = (
        log[0],
        bool(log[1]),
        int.from_bytes(log[2:4]),
        Address(log[4:24]),
        log[24:56],
        log[56:],
    )
    assert there.engine.read(there.verification, proves, source, batch, index, parts, words)
    empty = (0, False, 0, Address.zero(), bytes(32), bytes(32))
    with pytest.raises(Reverted, match="HashedLogIsDefault"):
        there.engine.read(there.verification, proves, source, batch, index + 1, empty, words)


def test_a_transaction_sends_no_more_bytes_than_one_bundle_has(street: Street) -> None:
    here = street.here
    multicall = Contract(MULTICALL, find("Multicall3"))
    half = here.center.encode(
        "sendBundle", chain_only(OTHER_CHAIN_ID), [starter(CAROL, bytes(49_000))], []
    )
    calls = [(INTEROP_CENTER, False, FEE, half)]
    here.engine.send(ALICE, multicall, "aggregate3Value", calls * 2, value=2 * FEE)
    here.engine.send(ALICE, multicall, "aggregate3Value", calls * 2, value=2 * FEE)
    with pytest.raises(Reverted):
        here.engine.send(ALICE, multicall, "aggregate3Value", calls * 3, value=3 * FEE)


def test_an_initiator_that_sends_a_bundle_itself_is_rejected(street: Street) -> None:
    here = street.here
    again = here.center.encode("sendBundle", chain_only(OTHER_CHAIN_ID), [starter(CAROL)], [])
    here.engine.overlay.set_code(BOB, calling(INTEROP_CENTER, again))
    with pytest.raises(Reverted, match="Reentered"):
        here.send(starter(BOB, indirect=0))


def test_an_initiator_without_code_or_answer_is_rejected(street: Street) -> None:
    with pytest.raises(Reverted):
        street.here.send(starter(CAROL, indirect=0))
    street.here.engine.overlay.set_code(CAROL, b"\0")
    with pytest.raises(Reverted):
        street.here.send(starter(CAROL, indirect=0))


def test_an_initiator_gives_its_call_the_value_that_was_asked_for(street: Street) -> None:
    here = street.here
    initiator = here.engine.deploy("ScriptedContract", sender=BOB)
    initiated = abi.encode(["(bytes,bytes,bytes[])"], [(anywhere(CAROL), b"", [])])
    asked = here.router.encode("initiateIndirectCall", OTHER_CHAIN_ID, ALICE, 0, b"")[:4]
    here.engine.send(BOB, initiator, "script", asked, [], 0, initiated, False)
    here.send(starter(initiator.address, indirect=0))
    with pytest.raises(Reverted, match="IndirectCallValueMismatch"):
        here.send(starter(initiator.address, value=1, indirect=0), value=1)


def test_the_center_keeps_nothing(street: Street) -> None:
    engine = street.here.engine
    street.here.send(starter(CAROL, value=5), value=5)
    assert engine.balance(INTEROP_CENTER) == 0
    engine.overlay.set_balance(INTEROP_CENTER, ETHER)
    with pytest.raises(Reverted, match="MsgValueMismatch"):
        street.here.send(starter(CAROL, value=5), value=4)
    assert engine.read(street.here.center, "burntFees") == FEE


def test_a_chain_is_registered_once_with_its_base_token(street: Street) -> None:
    hub = street.here.hub
    for token in (street.there.base_token, ZOO):
        with pytest.raises(Reverted, match="ChainAlreadyRegistered"):
            street.here.engine.send(
                alias(REGISTRAR), hub, "registerChainForInterop", OTHER_CHAIN_ID, asset_id(token)
            )


def test_roots_are_imported_all_or_none(street: Street) -> None:
    roots = [(L1_CHAIN_ID, number, NOW, [b"\1" * 32]) for number in (5, 6, 5)]
    with pytest.raises(Reverted, match="InteropRootAlreadyExists"):
        street.here.engine.send(BOOTLOADER, street.here.roots, "addInteropRootsInBatch", roots)
    assert street.here.engine.read(street.here.roots, "interopRoots", L1_CHAIN_ID, 5) == bytes(32)


def test_a_target_that_returns_without_end_costs_only_who_executes(street: Street) -> None:
    street.there.engine.overlay.set_code(CAROL, bytes.fromhex("620f42405ffd"))
    sent = street.here.send(starter(CAROL, b"x", value=3), starter(BOB, value=1), value=4)
    with pytest.raises(Reverted):
        street.deliver(sent)
    assert status(street, sent) == 0


def test_a_target_that_divides_its_own_bundle_while_it_is_executed_is_rejected(
    street: Street,
) -> None:
    recipient = street.recipient()
    there = street.there
    named = attribute("unbundlerAddress(bytes)", recipient.address)
    sent = street.here.send(
        starter(recipient.address), starter(CAROL, value=1), value=1, attributes=[named]
    )
    again = there.handler.encode("unbundleBundle", CHAIN_ID, sent.bundle, [0, EXECUTE])
    there.engine.send(BOB, recipient, "callBack", HANDLER, again)
    with pytest.raises(Reverted, match="BundleNotVerified"):
        street.deliver(sent)
    assert there.engine.balance(CAROL) == 0


def test_an_empty_holder_pays_nothing(street: Street) -> None:
    street.there.engine.overlay.set_balance(HOLDER, 2)
    sent = street.here.send(starter(CAROL, value=3), value=3)
    with pytest.raises(Reverted, match="PaymentFailed"):
        street.deliver(sent)
    assert status(street, sent) == 0


@pytest.mark.parametrize("target", [HOLDER, INTEROP_CENTER, Address((0x10004).to_bytes(20)), Address((0x10002).to_bytes(20)), Address((0x8008).to_bytes(20)), Address((0x800A).to_bytes(20))])  # fmt: skip
def test_no_system_contract_but_the_router_takes_messages(street: Street, target: Address) -> None:
    with pytest.raises(Reverted):
        street.deliver(forged(street, Call(to=target, sender=L2_ASSET_ROUTER, value=1)))


def test_the_base_token_is_not_minted_as_an_asset(street: Street) -> None:
    ether = street.there.base_asset
    with pytest.raises(Reverted, match="AssetIdNotSupported"):
        street.deliver(forged(street, asset_call(ether, mint_of(street.there.base_token, 5))))


def test_a_token_of_the_destination_that_never_left_is_not_minted(street: Street) -> None:
    own = asset_id(L1_TOKEN, OTHER_CHAIN_ID)
    texts = abi.encode(["uint256", "bytes", "bytes", "bytes"], [OTHER_CHAIN_ID, b"", b"", b""])
    with pytest.raises(Reverted, match="AssetIdNotSupported"):
        street.deliver(forged(street, asset_call(own, mint_of(L1_TOKEN, 5, b"\1" + texts))))
