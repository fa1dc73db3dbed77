"""Transactions of type 0x71 that the network's clients have signed, and the calls that they lead to, byte for byte."""

from __future__ import annotations

import pytest
from eth_abi.abi import encode as abi_encode

from entresol._native import keccak256
from entresol.primitives.transactions import Paymaster, Transaction, ZkTransaction
from entresol.primitives.transactions.envelope import load
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import CONTRACT_DEPLOYER, NONCE_HOLDER
from tests.support.contracts.accounts import (
    AGREES,
    ASK_PAYMASTER,
    EXECUTE,
    GENERAL,
    PAY,
    PAYS,
    POST,
    SELECTORS,
    VALIDATE,
    ScriptedWorld,
    T,
    approval_based,
    calls_of,
    pay,
    use_nonce,
)
from tests.support.contracts.layer_two import ETHER, FEE, artifact_for_tests, calldata, padded

SENDER = Address.parse("0x36615Cf349d7F6344891B1e7CA7C72883F5dc049")
CROWN = Address.parse("0x2dc3685cA34163952CF4A5395b0039c00DFa851D")
PAYMASTER = Address.parse("0x0EEc6f45108B4b806e27B81d9002e162BD910670")
MULTISIG = Address.parse("0x1234567890abcdef1234567890abcdef12345678")

TOKEN_PAYMENT = bytes.fromhex(
    "71f9012c038405f5e1008405f5e10083030d4094a61464658afeaf65cccaafd3a512b69a83b776188501a13b"
    "86008082010e808082010e9436615cf349d7f6344891b1e7ca7c72883f5dc04982c350c0b8414db362f877d4"
    "c8011520a91f090300b1dce2995cff6ffb74c36b26aef3d61f281d9965d8c639d5db27007d4cd090a1f92be7"
    "108e9d7f13ea1df59d95251a59c91cf89b940eec6f45108b4b806e27b81d9002e162bd910670b884949431dc"
    "0000000000000000000000002dc3685ca34163952cf4a5395b0039c00dfa851d000000000000000000000000"
    "0000000000000000000000000000000000000001000000000000000000000000000000000000000000000000"
    "00000000000000600000000000000000000000000000000000000000000000000000000000000000"
)
MULTISIG_CALL = bytes.fromhex(
    "71f8f0808405f5e1008405f5e100830493e094a61464658afeaf65cccaafd3a512b69a83b7761880a460fe47"
    "b100000000000000000000000000000000000000000000000000000000000001f482010e808082010e941234"
    "567890abcdef1234567890abcdef1234567882c350c0b882d2900b96bac2b9e62e48e41f3160fb930964e730"
    "24e1512149e7670781a1faed4b3e6018930cf03b82b6663a083aaac18801102be3186b083e10051e7fe1fb06"
    "1b896c379355d468e8cf4dba5baae4ab2a708f33ffd5d5c7ab9cfc3616f96774a658dbcd0bd7610ea07a7633"
    "fdf2ab76b8bed280385db8bd1d7cc553e9b33ef6b91bc0"
)


def decoded(raw: bytes) -> ZkTransaction:
    """Return the payload of a vector."""
    return ZkTransaction.decode(raw)


def encoded(payload: ZkTransaction) -> tuple[object, ...]:
    """Return the tuple that accounts and paymasters are given."""
    paymaster = payload.paymaster or Paymaster(Address.zero())
    numbers = [payload.sender, payload.to]
    return (
        0x71,
        *(int.from_bytes(number) for number in numbers),
        payload.gas_limit,
        payload.gas_per_pubdata_limit,
        payload.max_fee_per_gas,
        payload.max_priority_fee_per_gas,
        int.from_bytes(paymaster.address),
        payload.nonce,
        payload.value,
        [0, 0, 0, 0],
        payload.data,
        payload.signature,
        list(payload.factory_dep_hashes()),
        paymaster.input,
        b"",
    )


def call(function: str, payload: ZkTransaction) -> bytes:
    """Return the calldata of a step, by another implementation."""
    hashes = [payload.hash(), payload.signing_hash()]
    return SELECTORS[function] + abi_encode(["bytes32", "bytes32", T], [*hashes, encoded(payload)])


def post_call(payload: ZkTransaction, context: bytes, result: int, gas: int) -> bytes:
    """Return the calldata of the last step, by another implementation."""
    values = [context, encoded(payload), payload.hash(), payload.signing_hash()]
    types = ["bytes", T, "bytes32", "bytes32", "uint8", "uint256"]
    return SELECTORS[POST] + abi_encode(types, [*values, result, gas])


@pytest.mark.parametrize(
    ("data", "size", "expected"),
    [
        (
            call(VALIDATE, decoded(TOKEN_PAYMENT)),
            1_124,
            "51bfa6bb4ebc887bf98fe1f2c34bc49778320a2ab10626f83fc8455d9d626660",
        ),
        (
            call(ASK_PAYMASTER, decoded(TOKEN_PAYMENT)),
            1_124,
            "c1cdae110e89e36bbae2d5cdbd49b870252d18339adb4afbb3dcdbb1c7695d82",
        ),
        (
            post_call(decoded(TOKEN_PAYMENT), (7).to_bytes(32), 1, 123_456),
            1_284,
            "58db11cc6fbb9ac97d8cff03a3e1750b2f28de3f72ac88bff951de44c64f5fc4",
        ),
        (
            call(VALIDATE, decoded(MULTISIG_CALL)),
            1_092,
            "8f83fb13ca7dee307a04750425e8d5afb2f564c44a4a63acae6db756e157415d",
        ),
    ],
    ids=["validate", "paymaster", "post", "multisig"],
)
def test_the_other_implementation_agrees_with_the_vectors(
    data: bytes, size: int, expected: str
) -> None:
    assert len(data) == size
    assert keccak256(data).hex() == expected


def test_paymaster_inputs_are_those_of_the_clients() -> None:
    assert decoded(TOKEN_PAYMENT).paymaster == Paymaster(PAYMASTER, approval_based(CROWN, 1))
    assert GENERAL.hex() == "8c5a3445" + "20".rjust(64, "0") + "0" * 64


@pytest.fixture
def l2(l2: ScriptedWorld) -> ScriptedWorld:
    """Return an L2 with the sender, the paymaster, the token and the account of the vectors."""
    code = artifact_for_tests("ScriptedContract").runtime
    for contract in (PAYMASTER, CROWN, MULTISIG):
        _edit(l2, contract, code)
    l2.chain.edit(SENDER, lambda it: it.set_nonce(SENDER, 3), SENDER)
    l2.chain.edit(SENDER, lambda it: it.set_balance(SENDER, ETHER), SENDER)
    l2.chain.builder.seal()
    allowance = calldata("allowance(address,address)", SENDER, SENDER)[:4]
    # It is called statically, so it cannot log.
    l2.script(CROWN, allowance, output=b"\1" * 32, is_logged=False)
    l2.script(PAYMASTER, ASK_PAYMASTER, pay(200_000 * FEE), output=PAYS)
    l2.script(PAYMASTER, POST)
    return l2


def _edit(l2: ScriptedWorld, contract: Address, code: bytes) -> None:
    l2.chain.edit(contract, lambda it: it.set_code(contract, code))
    l2.chain.edit(contract, lambda it: it.set_balance(contract, ETHER))


def loaded(payload: ZkTransaction) -> Transaction:
    """Return a vector as a transaction."""
    return load(payload.encode(), payload.sender)


def test_a_paymaster_is_called_as_the_vectors_say(l2: ScriptedWorld) -> None:
    l2.script(PAYMASTER, ASK_PAYMASTER, pay(200_000 * FEE), output=PAYS, is_logged=True)
    asked, *_ = calls_of(l2.include(loaded(decoded(TOKEN_PAYMENT))))
    assert asked.data == call(ASK_PAYMASTER, decoded(TOKEN_PAYMENT))


def test_post_transaction_is_called_as_the_vectors_say(l2: ScriptedWorld) -> None:
    context = (7).to_bytes(32)
    reply = abi_encode(["bytes4", "bytes"], [SELECTORS[ASK_PAYMASTER], context])
    l2.script(PAYMASTER, ASK_PAYMASTER, pay(200_000 * FEE), output=reply, is_logged=False)
    payload = decoded(TOKEN_PAYMENT)
    *_, post = calls_of(l2.include(loaded(payload)))
    gas = int.from_bytes(post.data[4 + 5 * 32 :][:32])
    assert post.data == post_call(payload, context, 1, gas)


def test_a_contract_account_is_called_as_the_vectors_say(l2: ScriptedWorld) -> None:
    l2.set_version(MULTISIG, 1)
    l2.script(MULTISIG, VALIDATE, use_nonce(0), output=AGREES)
    l2.script(MULTISIG, PAY, pay(300_000 * FEE), is_logged=False)
    l2.script(MULTISIG, EXECUTE, is_logged=False)
    payload = decoded(MULTISIG_CALL)
    (validated,) = calls_of(l2.include(loaded(payload)))
    assert validated.data == call(VALIDATE, payload)


def test_nonce_and_version_are_in_the_slots_of_the_network(l2: ScriptedWorld) -> None:
    slot = keccak256(padded(MULTISIG) + bytes(32))
    assert slot.hex() == "cba2a942e8e46d5080ce5198258ebdda85882d592803a84a8739e58bfb1cb9dc"
    l2.set_version(MULTISIG, 1)
    jump = calldata("increaseMinNonce(uint256)", 9)
    l2.do(MULTISIG, (NONCE_HOLDER, 0, jump))
    state = l2.chain.latest
    assert int.from_bytes(state.slot(CONTRACT_DEPLOYER, slot)) == 1
    assert int.from_bytes(state.slot(NONCE_HOLDER, slot)) == 9
