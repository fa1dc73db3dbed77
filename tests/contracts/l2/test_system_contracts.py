"""The small system contracts: deployer, nonces, context, messages to L1, Multicall3, deterministic deployers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol._native import keccak256, rlp_encode
from entresol.contracts import artifact
from entresol.errors import ExecutionReverted
from entresol.primitives.base_token import ETH_TOKEN, asset_id
from entresol.primitives.bytecode import eravm_hash, evm_hash
from entresol.primitives.l2_to_l1_logs import (
    BOOTLOADER,
    L1_MESSAGE_SENT,
    L1_MESSENGER,
    MAX_LOGS_PER_BATCH,
)
from entresol.primitives.records import TransactionResult
from entresol.primitives.rlp import encode_uint
from entresol.primitives.transactions import Transaction
from entresol.primitives.transactions import decode as decode_transaction
from entresol.primitives.values import Address, Hash32, create_address
from entresol.rollup.batcher import Batcher
from entresol.rollup.system_contracts import (
    ASSET_ROUTER,
    BASE_TOKEN,
    BRIDGEHUB,
    CONTRACT_DEPLOYER,
    CREATE2_FACTORY,
    DEPLOYERS,
    DETERMINISTIC_PROXY,
    MESSAGE_ROOT,
    MULTICALL,
    NONCE_HOLDER,
    PROXY_CODE,
    SAFE_FACTORY,
    SINGLETON_CODE,
    SINGLETON_FACTORY,
    SYSTEM_CONTEXT,
)
from tests.support.contracts.accounts import ScriptedWorld
from tests.support.contracts.engine import create2_address
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETHER,
    FEE,
    L1_CHAIN_ID,
    LayerTwo,
    calldata,
    decode,
    encode,
    failing,
    failure,
    logs_of,
    messages_of,
    padded,
    topic,
)
from tests.support.coroutines import completed
from tests.support.evm.assembler import assemble, initcode

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
    with failing(error):
        l2.call(CONTRACT_DEPLOYER, arguments(CREATE, init, bytecode_hash))


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


# --- Nonces of accounts ---


KEYED = 7 << 64


@pytest.fixture
def world() -> Iterator[ScriptedWorld]:
    layer = ScriptedWorld()
    yield layer
    layer.close()


def reason(world: ScriptedWorld, signature: str, *values: object, by: bytes = ALICE) -> bytes:
    with pytest.raises(ExecutionReverted) as raised:
        world.call(NONCE_HOLDER, calldata(signature, *values), sender=by)  # type: ignore[arg-type]
    return raised.value.data


def test_an_account_uses_its_next_nonce(world: ScriptedWorld) -> None:
    account = world.contract()
    use = "incrementMinNonceIfEquals(uint256)"
    assert world.do(account, (NONCE_HOLDER, 0, calldata(use, 0))).succeeded
    assert world.min_nonce(account) == 1
    mismatch = failure("ValueMismatch(uint256,uint256)", 0, 1)
    assert reason(world, use, 0, by=account) == mismatch
    used = "isNonceUsed(address,uint256)(bool)"
    assert [world.read(NONCE_HOLDER, used, account, nonce) for nonce in (0, 1)] == [True, False]


def test_a_nonce_jumps_by_a_limited_number(world: ScriptedWorld) -> None:
    account = world.contract()
    jump = "increaseMinNonce(uint256)"
    assert world.do(account, (NONCE_HOLDER, 0, calldata(jump, 2**32))).succeeded
    assert world.min_nonce(account) == 2**32
    for value in (0, 2**32 + 1):
        expected = failure("NonceIncreaseError(uint256,uint256,uint256)", 1, 2**32, value)
        assert reason(world, jump, value, by=account) == expected


def test_a_key_has_a_counter_of_its_own(world: ScriptedWorld) -> None:
    account = world.contract()
    use = "incrementMinNonceIfEqualsKeyed(uint256)"
    assert world.do(account, (NONCE_HOLDER, 0, calldata(use, KEYED))).succeeded
    keyed = "getKeyedNonce(address,uint192)(uint256)"
    assert world.read(NONCE_HOLDER, keyed, account, 7) == KEYED + 1
    assert world.read(NONCE_HOLDER, keyed, account, 0) == world.min_nonce(account) == 0
    assert reason(world, use, 0, by=account) == failure("InvalidNonceKey(uint192)", 0)
    mismatch = failure("ValueMismatch(uint256,uint256)", KEYED, KEYED + 1)
    assert reason(world, use, KEYED, by=account) == mismatch


def test_the_usage_of_a_nonce_is_checked(world: ScriptedWorld) -> None:
    account = world.contract()
    check = "validateNonceUsage(address,uint256,bool)"
    assert world.call(NONCE_HOLDER, calldata(check, account, 3, False)) == b""
    unused = failure("NonceNotUsed(address,uint256)", account, 3)
    assert reason(world, check, account, 3, True) == unused
    world.do(account, (NONCE_HOLDER, 0, calldata("increaseMinNonce(uint256)", 4)))
    used = failure("NonceAlreadyUsed(address,uint256)", account, 3)
    assert reason(world, check, account, 3, False) == used


@pytest.mark.parametrize("function", ["getMinNonce(address)", "getRawNonce(address)"])
def test_nonces_of_keys_cannot_be_read(world: ScriptedWorld, function: str) -> None:
    assert b"eth_getTransactionCount" in reason(world, function, ALICE)


@pytest.mark.parametrize(
    ("getter", "expected"),
    [
        ("chainId()(uint256)", CHAIN_ID),
        ("origin()(address)", str(ALICE)),
        ("gasPrice()(uint256)", 0),
        ("blockGasLimit()(uint256)", 30_000_000),
        ("coinbase()(address)", str(Address.zero())),
        ("difficulty()(uint256)", 0),
        ("baseFee()(uint256)", FEE),
        ("gasPerPubdataByte()(uint256)", 800),
        ("getBlockNumber()(uint128)", 3),
        ("getBlockTimestamp()(uint128)", 1_002),
        ("getL2BlockNumberAndTimestamp()(uint128,uint128)", (3, 1_002)),
        ("getBatchNumberAndTimestamp()(uint128,uint128)", (3, 1_002)),
    ],
)
def test_the_context_returns_chain_block_and_transaction(
    l2: LayerTwo, getter: str, expected: object
) -> None:
    l2.chain.builder.seal()
    l2.chain.builder.seal()
    assert l2.read(SYSTEM_CONTEXT, getter) == expected


def test_the_bridgehub_returns_the_bridges_of_this_chain(l2: LayerTwo) -> None:
    for getter in ("assetRouter()", "sharedBridge()"):
        assert Address.parse(l2.read(BRIDGEHUB, f"{getter}(address)")) == ASSET_ROUTER
    assert Address.parse(l2.read(BRIDGEHUB, "messageRoot()(address)")) == MESSAGE_ROOT
    assert l2.read(BRIDGEHUB, "L1_CHAIN_ID()(uint256)") == L1_CHAIN_ID
    base = l2.read(BRIDGEHUB, "baseTokenAssetId(uint256)(bytes32)", CHAIN_ID)
    assert base == asset_id(L1_CHAIN_ID, ETH_TOKEN)
    assert l2.read(BRIDGEHUB, "baseTokenAssetId(uint256)(bytes32)", 324) == bytes(32)


def test_the_aggregated_root_is_zero(l2: LayerTwo) -> None:
    assert l2.read(MESSAGE_ROOT, "getAggregatedRoot()(bytes32)") == bytes(32)
    assert Address.parse(l2.read(MESSAGE_ROOT, "BRIDGE_HUB()(address)")) == BRIDGEHUB


def test_the_bootloader_rejects_calls_and_ether(l2: LayerTwo) -> None:
    with failing(failure("NothingToCall()")):
        l2.call(BOOTLOADER, b"\x12\x34\x56\x78")
    assert not l2.send(BOOTLOADER, b"", value=1).succeeded


NAME = calldata("name()")
ETHER_NAME = encode("(string)", "Ether")
REJECTED = failure("NothingToCall()")
TARGET = Address(b"\x66" * 20)


def test_aggregate3_returns_a_result_for_each_call(l2: LayerTwo) -> None:
    calls = [(BASE_TOKEN, False, NAME), (BOOTLOADER, True, NAME), (TARGET, True, NAME)]
    answer = l2.read(MULTICALL, "aggregate3((address,bool,bytes)[])((bool,bytes)[])", calls)
    assert answer == ((True, ETHER_NAME), (False, REJECTED), (True, b""))


@pytest.mark.parametrize(
    "call",
    [
        calldata("aggregate((address,bytes)[])", [(BOOTLOADER, NAME)]),
        calldata("blockAndAggregate((address,bytes)[])", [(BOOTLOADER, NAME)]),
        calldata("tryAggregate(bool,(address,bytes)[])", True, [(BOOTLOADER, NAME)]),
        calldata("tryBlockAndAggregate(bool,(address,bytes)[])", True, [(BOOTLOADER, NAME)]),
        calldata("aggregate3((address,bool,bytes)[])", [(BOOTLOADER, False, NAME)]),
        calldata("aggregate3Value((address,bool,uint256,bytes)[])", [(BOOTLOADER, False, 0, NAME)]),
    ],
)
def test_a_required_call_that_fails_reverts_all(l2: LayerTwo, call: bytes) -> None:
    with pytest.raises(ExecutionReverted, match="Multicall3: call failed"):
        l2.call(MULTICALL, call)


def test_try_aggregate_returns_which_calls_failed(l2: LayerTwo) -> None:
    calls = [(BASE_TOKEN, NAME), (BOOTLOADER, NAME)]
    results = ((True, ETHER_NAME), (False, REJECTED))
    forms = "tryAggregate(bool,(address,bytes)[])((bool,bytes)[])"
    assert l2.read(MULTICALL, forms, False, calls) == results
    forms = "tryBlockAndAggregate(bool,(address,bytes)[])(uint256,bytes32,(bool,bytes)[])"
    assert l2.read(MULTICALL, forms, False, calls) == (1, bytes(32), results)
    forms = "blockAndAggregate((address,bytes)[])(uint256,bytes32,(bool,bytes)[])"
    assert l2.read(MULTICALL, forms, calls[:1]) == (1, bytes(32), results[:1])


def test_the_value_must_match_the_calls(l2: LayerTwo) -> None:
    call = calldata("aggregate3Value((address,bool,uint256,bytes)[])", [(TARGET, False, 3, b"")])
    with pytest.raises(ExecutionReverted, match="Multicall3: value mismatch"):
        l2.call(MULTICALL, call, value=4)


MESSENGER_CODE = artifact("L1Messenger").bytecode


def signed(init_code: bytes, gas: int, r: int, s: int) -> Transaction:
    """Return a keyless deployment at 100 gwei: its signature was chosen, and its sender recovered."""
    numbers = [encode_uint(number) for number in (0, 100 * 10**9, gas)]
    signature = [encode_uint(number) for number in (27, r, s)]
    return decode_transaction(rlp_encode([*numbers, b"", b"", init_code, *signature]))


@pytest.mark.parametrize(
    ("transaction", "sender", "address"),
    [
        (
            signed(
                bytes.fromhex("604580600e600039806000f350fe") + PROXY_CODE,
                100_000,
                int("22" * 32, 16),
                int("22" * 32, 16),
            ),
            "0x3fab184622dc19b6109349b94811493bf2a45362",
            DETERMINISTIC_PROXY,
        ),
        (
            signed(
                bytes.fromhex("608060405234801561001057600080fd5b50610134806100206000396000f3fe")
                + SINGLETON_CODE,
                247_000,
                0x247000,
                0x2470,
            ),
            "0xbb6e024b9cffacb947a71991e386681b1cd1477d",
            SINGLETON_FACTORY,
        ),
    ],
    ids=["proxy", "singleton factory"],
)
def test_the_code_is_what_the_keyless_transaction_deploys(
    l2: LayerTwo, transaction: Transaction, sender: str, address: Address
) -> None:
    assert str(transaction.sender) == sender
    assert create_address(transaction.sender, 0) == address
    init_code = transaction.payload.data
    assert l2.call(None, init_code) == l2.code(address) == DEPLOYERS[address]


@pytest.mark.parametrize("deployer", [DETERMINISTIC_PROXY, SAFE_FACTORY])
def test_a_proxy_deploys_by_salt_and_init_code(l2: LayerTwo, deployer: Address) -> None:
    expected = create2_address(deployer, SALT, MESSENGER_CODE)
    assert l2.call(deployer, SALT + MESSENGER_CODE) == expected
    assert l2.send(deployer, SALT + MESSENGER_CODE).succeeded
    assert l2.code(expected) == artifact("L1Messenger").runtime


def test_the_singleton_factory_deploys_by_salt_and_init_code(l2: LayerTwo) -> None:
    expected = create2_address(SINGLETON_FACTORY, SALT, MESSENGER_CODE)
    assert l2.send(
        SINGLETON_FACTORY, calldata("deploy(bytes,bytes32)", MESSENGER_CODE, SALT)
    ).succeeded
    assert l2.code(expected) == artifact("L1Messenger").runtime


# --- Messages to L1, and withdrawals of the base token ---


RECEIVER = Address.parse("0x36615cf349d7f6344891b1e7ca7c72883f5dc049")
AMOUNT = 10**15


def sent_message(l2: LayerTwo) -> bytes:
    """Return the only message of the last transaction."""
    (log,) = logs_of(l2.last(), L1_MESSENGER, L1_MESSAGE_SENT)
    message: bytes = decode("(bytes)", log[2])
    return message


def test_a_message_emits_an_event_and_an_l2_to_l1_log(l2: LayerTwo) -> None:
    outcome = l2.send(L1_MESSENGER, calldata("sendToL1(bytes)", b"hello"))
    ((address, topics, data),) = outcome.logs
    assert address == L1_MESSENGER
    assert topics == (L1_MESSAGE_SENT, padded(ALICE), keccak256(b"hello"))
    assert data == encode("(bytes)", b"hello")
    (log,) = messages_of(outcome)
    assert (log.sender, log.key, log.value) == (L1_MESSENGER, padded(ALICE), keccak256(b"hello"))
    assert log.is_service


# Runs the code of the contract that the first word names on the rest of the input, as if it were its own.
BORROWING = (
    "32 calldatasize sub 32 0 calldatacopy 0 0 32 calldatasize sub 0 {} 0 calldataload gas {}"
)


@pytest.mark.parametrize(
    ("value", "instruction"),
    [("", "delegatecall"), ("0", "callcode")],
    ids=["delegate", "callcode"],
)
@pytest.mark.parametrize("lender", [L1_MESSENGER, BASE_TOKEN], ids=["messenger", "base token"])
def test_delegated_calls_send_no_message_as_the_messenger(
    l2: LayerTwo, lender: Address, value: str, instruction: str
) -> None:
    # Only CALLCODE takes a value.
    code = BORROWING.format(value, instruction)
    created = l2.send(None, initcode(assemble(code))).created
    assert created is not None
    call = (
        calldata("sendToL1(bytes)", b"hello")
        if lender == L1_MESSENGER
        else calldata("withdraw(address)", RECEIVER)
    )
    outcome = l2.send(Address(created), padded(lender) + call)
    assert outcome.succeeded
    assert outcome.logs
    assert lender not in {log.key[12:] for log in messages_of(outcome)}
    if lender == L1_MESSENGER:
        assert outcome.l2_to_l1_logs == ()


# Sends an empty message as often as the input says.
FLOODING = assemble(
    """
    0x62f84b24 224 shl 0 mstore 32 4 mstore
    0 calldataload
    again: 0 0 68 0 0 0x8008 gas call pop
    1 swap1 sub dup1 @again jumpi
    """
)


@pytest.mark.parametrize(
    ("messages", "fit"), [(MAX_LOGS_PER_BATCH - 1, True), (MAX_LOGS_PER_BATCH, False)]
)
def test_a_priority_transaction_with_more_messages_than_fit_into_a_batch_fails(
    l2: LayerTwo, messages: int, fit: bool
) -> None:
    created = l2.send(None, initcode(FLOODING)).created
    assert created is not None
    gas = 72_000_000
    outcome = l2.from_l1(messages.to_bytes(32), to=Address(created), gas=gas)
    assert outcome.succeeded is fit
    assert len(outcome.l2_to_l1_logs) == (MAX_LOGS_PER_BATCH if fit else 1)
    if not fit:
        assert (outcome.gas_used, outcome.logs) == (gas, ())
    batch = completed(Batcher(l2.chain.blocks, l2.chain.batches).seal(0.0))
    assert batch is not None
    assert batch.last_block == l2.chain.number


def test_the_message_of_a_withdrawal_is_selector_receiver_and_amount(l2: LayerTwo) -> None:
    outcome = l2.send(BASE_TOKEN, calldata("withdraw(address)", RECEIVER), value=AMOUNT)
    message = sent_message(l2)
    assert message.hex() == (
        "6c0960f9"
        "36615cf349d7f6344891b1e7ca7c72883f5dc049"
        "00000000000000000000000000000000000000000000000000038d7ea4c68000"
    )
    (log,) = messages_of(outcome)
    assert (log.key, log.value) == (padded(BASE_TOKEN), keccak256(message))
    assert log.value.hex() == "f5d05ab07f85804d4673664019def552e59b9564cb3ee49848a54c9f5f5c6d1d"


def test_a_withdrawal_with_a_message_contains_its_sender(l2: LayerTwo) -> None:
    call = calldata("withdrawWithMessage(address,bytes)", RECEIVER, b"note")
    outcome = l2.send(BASE_TOKEN, call, value=AMOUNT)
    assert sent_message(l2) == (
        bytes.fromhex("6c0960f9") + RECEIVER + AMOUNT.to_bytes(32) + ALICE + b"note"
    )
    _, topics, data = outcome.logs[-1]
    assert topics == (
        bytes.fromhex("c405fe8958410bbaf0c73b7a0c3e20859e86ca168a4c9b0def9c54d2555a306b"),
        padded(ALICE),
        padded(RECEIVER),
    )
    assert decode("(uint256,bytes)", data) == (AMOUNT, b"note")


def test_a_withdrawal_to_the_zero_address_is_rejected(l2: LayerTwo) -> None:
    nobody = Address.zero()
    with failing(failure("InvalidReceiver(address)", nobody)):
        l2.call(BASE_TOKEN, calldata("withdraw(address)", nobody), value=1)


def test_ether_sent_to_the_base_token_without_call_data_is_rejected(l2: LayerTwo) -> None:
    assert not l2.send(BASE_TOKEN, b"", value=ETHER).succeeded
    assert l2.balance(BASE_TOKEN) == 0


def test_the_base_token_returns_balances_and_metadata_and_says_why_it_has_no_total(
    l2: LayerTwo,
) -> None:
    assert l2.read(BASE_TOKEN, "balanceOf(uint256)(uint256)", int.from_bytes(BOB)) == 100 * ETHER
    assert l2.read(BASE_TOKEN, "name()(string)") == "Ether"
    assert l2.read(BASE_TOKEN, "symbol()(string)") == "ETH"
    assert l2.read(BASE_TOKEN, "decimals()(uint8)") == 18
    with pytest.raises(ExecutionReverted, match="what the bridge holds on L1"):
        l2.read(BASE_TOKEN, "totalSupply()(uint256)")


def test_the_event_of_another_contract_is_no_message(l2: LayerTwo) -> None:
    imitation = l2.deploy(artifact("L1Messenger"))
    assert l2.code(imitation) == artifact("L1Messenger").runtime
    outcome = l2.send(imitation, calldata("sendToL1(bytes)", b"hello"))
    assert logs_of(outcome, imitation, topic("L1MessageSent(address,bytes32,bytes)"))
    assert outcome.l2_to_l1_logs == ()
