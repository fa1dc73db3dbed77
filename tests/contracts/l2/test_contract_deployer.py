"""Deployments by the interface of the ZK Stack, and deployment nonces."""

from __future__ import annotations

import pytest

from entresol.contracts import artifact
from entresol.errors import ExecutionReverted
from entresol.primitives.bytecode import eravm_hash, evm_hash
from entresol.primitives.records import TransactionResult
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import CONTRACT_DEPLOYER, CREATE2_FACTORY, NONCE_HOLDER
from tests.support.contracts.create2 import create2_address
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    LayerTwo,
    calldata,
    encode,
    failure,
    logs_of,
    padded,
)

CREATE = "create(bytes32,bytes32,bytes)"
CREATE2 = "create2(bytes32,bytes32,bytes)"
CREATE_ACCOUNT = "createAccount(bytes32,bytes32,bytes,uint8)"
CREATE2_ACCOUNT = "create2Account(bytes32,bytes32,bytes,uint8)"
DEPLOYED = bytes.fromhex("290afdae231a3fc0bbae8b1af63698b0a1d79b21ad17df0342dfb952fe74f8e5")
SALT = Hash32(b"\x5a" * 32)
INIT = artifact("TestERC20").bytecode + encode("(string,string,uint8)", "Local", "LCL", 8)
INIT_HASH = evm_hash(INIT)
# Init code that reverts with the word 7.
FAILING = bytes.fromhex("60075f5260205ffd")


def deployed(outcome: TransactionResult, by: Address = ALICE) -> tuple[Address, bytes]:
    """Return the address and the code hash of a deployment, as clients read them."""
    assert outcome.succeeded
    ((_, topics, data),) = logs_of(outcome, CONTRACT_DEPLOYER, DEPLOYED)
    assert (topics[1], data) == (padded(by), b"")
    return Address(topics[3][12:]), topics[2]


def arguments(signature: str, init: bytes = INIT, bytecode_hash: bytes = INIT_HASH) -> bytes:
    """Return the call of a deployment by one of the four functions."""
    version = (1,) if "Account" in signature else ()
    return calldata(signature, SALT, bytecode_hash, init, *version)


@pytest.mark.parametrize(
    ("signature", "selector"),
    [
        (CREATE, "9c4d535b"),
        (CREATE2, "3cda3351"),
        (CREATE_ACCOUNT, "ecf95b8a"),
        (CREATE2_ACCOUNT, "5d382700"),
    ],
)
def test_each_function_deploys_evm_code(l2: LayerTwo, signature: str, selector: str) -> None:
    call = arguments(signature)
    assert call[:4].hex() == selector
    address, code_hash = deployed(l2.send(CONTRACT_DEPLOYER, call))
    assert l2.read(address, "name()(string)") == "Local"
    assert code_hash == evm_hash(l2.code(address))


def test_create2_deploys_at_the_computed_address(l2: LayerTwo) -> None:
    promised = l2.read(
        CONTRACT_DEPLOYER,
        "getNewAddressCreate2(address,bytes32,bytes32,bytes)(address)",
        ALICE,
        INIT_HASH,
        SALT,
        INIT,
    )
    address, _ = deployed(l2.send(CONTRACT_DEPLOYER, arguments(CREATE2)))
    assert address == Address.parse(promised)
    assert not l2.send(CONTRACT_DEPLOYER, arguments(CREATE2)).succeeded


def test_create2_has_separate_addresses_for_each_deployer(l2: LayerTwo) -> None:
    of_alice, _ = deployed(l2.send(CONTRACT_DEPLOYER, arguments(CREATE2)))
    of_bob, _ = deployed(l2.send(CONTRACT_DEPLOYER, arguments(CREATE2), by=1), by=BOB)
    assert of_alice != of_bob
    assert create2_address(CONTRACT_DEPLOYER, SALT, INIT) not in (of_alice, of_bob)


@pytest.mark.parametrize("signature", [CREATE2, CREATE2_ACCOUNT])
def test_the_factory_deploys_at_the_same_address_for_every_caller(
    l2: LayerTwo, signature: str
) -> None:
    of_bob = Address(l2.call(CREATE2_FACTORY, arguments(signature), sender=BOB)[12:])
    outcome = l2.send(CREATE2_FACTORY, arguments(signature))
    assert deployed(outcome, by=CREATE2_FACTORY)[0] == of_bob


def test_the_factory_forwards_the_revert_reason_of_a_deployment(l2: LayerTwo) -> None:
    with pytest.raises(ExecutionReverted, match="EraVM bytecode cannot run on this chain"):
        l2.call(CREATE2_FACTORY, arguments(CREATE2, b"", eravm_hash(b"\x01" * 32)))


@pytest.mark.parametrize("signature", [CREATE, CREATE2, CREATE_ACCOUNT, CREATE2_ACCOUNT])
def test_eravm_bytecode_is_rejected_with_a_message(l2: LayerTwo, signature: str) -> None:
    with pytest.raises(ExecutionReverted, match="EraVM bytecode cannot run on this chain"):
        l2.call(CONTRACT_DEPLOYER, arguments(signature, b"", eravm_hash(b"\x01" * 32)))


@pytest.mark.parametrize(
    ("init", "bytecode_hash", "error"),
    [
        (INIT, bytes(32), failure("UnknownBytecodeVersion(bytes32)", bytes(32))),
        (
            INIT + b"\0",
            INIT_HASH,
            failure("BytecodeHashMismatch(bytes32,bytes32)", evm_hash(INIT + b"\0"), INIT_HASH),
        ),
        (bytes(65_536), INIT_HASH, failure("BytecodeTooLong(uint256)", 65_536)),
        (b"\xfe", evm_hash(b"\xfe"), failure("DeploymentFailed()")),
        (FAILING, evm_hash(FAILING), (7).to_bytes(32)),
    ],
    ids=["unknown version", "other code", "too long", "invalid code", "failing constructor"],
)
def test_an_invalid_deployment_is_rejected(
    l2: LayerTwo, init: bytes, bytecode_hash: bytes, error: bytes
) -> None:
    with pytest.raises(ExecutionReverted) as caught:
        l2.call(CONTRACT_DEPLOYER, arguments(CREATE, init, bytecode_hash))
    assert caught.value.data == error


def test_init_code_can_be_deployed_without_its_hash(l2: LayerTwo) -> None:
    first, _ = deployed(l2.send(CONTRACT_DEPLOYER, calldata("createEVM(bytes)", INIT)))
    outcome = l2.send(CONTRACT_DEPLOYER, calldata("create2EVM(bytes32,bytes)", SALT, INIT))
    second, _ = deployed(outcome)
    assert l2.code(first) == l2.code(second) != b""
    promised = l2.read(
        CONTRACT_DEPLOYER,
        "getNewAddressCreate2(address,bytes32,bytes32,bytes)(address)",
        ALICE,
        INIT_HASH,
        SALT,
        INIT,
    )
    assert second == Address.parse(promised)
    gas, _ = l2.read(CONTRACT_DEPLOYER, "createEVM(bytes)(uint256,address)", INIT)
    assert 32_000 < gas < 1_000_000


def test_value_goes_to_the_new_contract(l2: LayerTwo) -> None:
    # Init code that returns nothing: a contract without code, which accepts ether.
    outcome = l2.send(CONTRACT_DEPLOYER, arguments(CREATE, b"\0", evm_hash(b"\0")), value=5)
    address, _ = deployed(outcome)
    assert l2.balance(address) == 5
    assert l2.balance(CONTRACT_DEPLOYER) == 0


def test_only_a_contract_that_was_deployed_as_an_account_is_one(l2: LayerTwo) -> None:
    plain, _ = deployed(l2.send(CONTRACT_DEPLOYER, arguments(CREATE)))
    account, _ = deployed(l2.send(CONTRACT_DEPLOYER, arguments(CREATE_ACCOUNT)))
    info = "getAccountInfo(address)(uint8,uint8)"
    assert l2.read(CONTRACT_DEPLOYER, info, account) == (1, 0)
    assert l2.read(CONTRACT_DEPLOYER, info, plain) == (0, 0)
    assert l2.read(CONTRACT_DEPLOYER, info, ALICE) == (0, 0)


def test_an_address_without_code_can_start_transactions(l2: LayerTwo) -> None:
    plain, _ = deployed(l2.send(CONTRACT_DEPLOYER, arguments(CREATE)))
    account, _ = deployed(l2.send(CONTRACT_DEPLOYER, arguments(CREATE_ACCOUNT)))
    version = "extendedAccountVersion(address)(uint8)"
    versions = [
        l2.read(CONTRACT_DEPLOYER, version, address)
        for address in (ALICE, account, plain, CONTRACT_DEPLOYER, Address(bytes(19) + b"\x01"))
    ]
    assert versions == [1, 1, 0, 0, 0]


def test_a_delegated_address_is_still_an_externally_owned_account(l2: LayerTwo) -> None:
    delegation = bytes.fromhex("ef0100") + CONTRACT_DEPLOYER
    l2.chain.edit(BOB, lambda state: state.set_code(BOB, delegation))
    assert l2.read(CONTRACT_DEPLOYER, "extendedAccountVersion(address)(uint8)", BOB) == 1


def test_deployments_are_counted_for_each_deployer(l2: LayerTwo) -> None:
    count = "getDeploymentNonce(address)(uint256)"
    assert l2.read(NONCE_HOLDER, count, ALICE) == 0
    l2.send(CONTRACT_DEPLOYER, arguments(CREATE))
    l2.send(CONTRACT_DEPLOYER, arguments(CREATE2))
    l2.send(CREATE2_FACTORY, arguments(CREATE2))
    counts = [l2.read(NONCE_HOLDER, count, who) for who in (ALICE, BOB, CREATE2_FACTORY)]
    assert counts == [2, 0, 1]


def test_only_the_deployer_increments_deployment_nonces(l2: LayerTwo) -> None:
    with pytest.raises(ExecutionReverted) as caught:
        l2.call(NONCE_HOLDER, calldata("incrementDeploymentNonce(address)", ALICE))
    assert caught.value.data == failure("Unauthorized(address)", ALICE)


def version_setter(version: int) -> bytes:
    """Return init code that sets its account version, and deploys a contract that does nothing."""
    call = calldata("updateAccountVersion(uint8)", version)
    words = (call[:32], call[32:].ljust(32, b"\0"))
    stores = b"".join(
        b"\x7f" + word + b"\x60" + bytes([32 * i]) + b"\x52" for i, word in enumerate(words)
    )
    # CALL(gas, 0x8006, 0, 0, 36, 0, 0), then RETURN(95, 1): a zero byte.
    return stores + bytes.fromhex("5f5f60245f5f6180065af1506001605ff3")


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    "signature",
    [
        CREATE,
        CREATE2,
        CREATE_ACCOUNT,
        CREATE2_ACCOUNT,
        "createEVM(bytes)",
        "create2EVM(bytes32,bytes)",
    ],
)
def test_the_version_that_the_constructor_sets_is_recorded(
    l2: LayerTwo, signature: str, version: int
) -> None:
    init = version_setter(version)
    if "EVM" in signature:
        call = calldata(signature, *((SALT, init) if "2" in signature else (init,)))
    else:
        call = arguments(signature, init, evm_hash(init))
    address, _ = deployed(l2.send(CONTRACT_DEPLOYER, call))
    info = l2.read(CONTRACT_DEPLOYER, "getAccountInfo(address)(uint8,uint8)", address)
    assert info == (version, 0)


def test_the_version_is_recorded_before_the_constructor_runs(l2: LayerTwo) -> None:
    # Stores getAccountInfo(this).supportedAAVersion in slot 0, and deploys nothing.
    selector = calldata("getAccountInfo(address)", Address.zero())[:4]
    init = bytes.fromhex(f"63{selector.hex()}60e01b5f523060045260405f60245f6180065afa505f515f5500")
    address, _ = deployed(
        l2.send(CONTRACT_DEPLOYER, arguments(CREATE_ACCOUNT, init, evm_hash(init)))
    )
    assert l2.chain.latest.slot(address, bytes(32)) == (1).to_bytes(32)
