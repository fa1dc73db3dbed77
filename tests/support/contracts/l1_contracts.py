"""The contracts of L1, deployed as docs/contracts.md says, with one chain registered."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from eth_abi import abi

from entresol._native import keccak256
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.values import Address, Hash32, create_address
from tests.support.contracts.batches import Batch, stored
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, Contract, Engine, Reverted, error_of
from tests.support.contracts.merkle_trees import proof_of, root_of

CHAIN_ID = 270
OTHER_CHAIN_ID = 271
DEPLOYER = Address(b"\xd0" * 20)
OPERATOR = Address(b"\x0b" * 20)
ALICE = Address(b"\xa1" * 20)
BOB = Address(b"\xb0" * 20)

ETH_TOKEN = Address((1).to_bytes(20))
L2_BASE_TOKEN = Address((0x800A).to_bytes(20))
L2_ASSET_ROUTER = Address((0x10003).to_bytes(20))
L2_NATIVE_TOKEN_VAULT = Address((0x10004).to_bytes(20))

PROTOCOL_VERSION = (30 << 32) | 2
ROLLUP = 0
CALLDATA_DA = 3
DAY = 86_400
PRODUCTION_LIMITS = (7 * DAY, 15 * 60)
"""How old and how far ahead a batch may be at most, off development chains."""

FEE_PARAMS = (ROLLUP, 1_000_000, 120_000, 80_000_000, 99_000, 250_000_000)


@dataclass(frozen=True)
class Deployed:
    """The contracts of L1 and an engine that they are on."""

    engine: Engine
    bridgehub: Contract
    nullifier: Contract
    vault: Contract
    router: Contract
    legacy_bridge: Contract
    timelock: Contract
    manager: Contract
    verifier: Contract
    chain: Contract
    facets: tuple[Contract, Contract]
    """The mailbox and the executor of every chain."""
    message_root: Contract
    registrar: Contract
    genesis: Batch
    last_batches: dict[Address, Batch] = field(default_factory=dict)

    def token(
        self, name: str = "TestERC20", *arguments: object, holder: Address = ALICE
    ) -> Contract:
        if name == "TestERC20" and not arguments:
            arguments = ("Test", "TST", 18)
        token = self.engine.deploy(name, *arguments, sender=DEPLOYER)
        self.engine.send(DEPLOYER, token, "mint", holder, 1000 * ETHER)
        return token

    def settle(self, *logs: L2ToL1Log, chain: Contract | None = None) -> int:
        return self.settle_root(root_of(logs), chain or self.chain)

    def settle_root(self, logs_root: bytes, chain: Contract) -> int:
        previous = self.last_batches.get(chain.address, self.genesis)
        chain_id = self.engine.read(chain, "getChainId")
        batch = Batch(number=previous.number + 1, logs_root=logs_root, chain_id=chain_id)
        settle(self.engine, self.timelock, chain, previous, batch)
        self.last_batches[chain.address] = batch
        return batch.number

    def add_chain(
        self,
        chain_id: int = OTHER_CHAIN_ID,
        token: Address = ETH_TOKEN,
        *,
        da: int = CALLDATA_DA,
        ratio: tuple[int, int] = (1, 1),
        is_development: bool = True,
    ) -> Contract:
        """Register another chain, whose gas is paid in `token`, of which ether costs `ratio`."""
        chain = self.new_chain(chain_id, da=da, ratio=ratio, is_development=is_development)
        self.engine.send(
            DEPLOYER, self.bridgehub, "registerChain",
            chain_id, self.manager.address, chain.address, asset_id(token),
            keccak256(stored(self.genesis.stored())),
        )  # fmt: skip
        self.engine.send(DEPLOYER, self.timelock, "addValidator", chain.address, OPERATOR)
        return chain

    def new_chain(
        self,
        chain_id: int = OTHER_CHAIN_ID,
        *,
        da: int = CALLDATA_DA,
        ratio: tuple[int, int] = (1, 1),
        is_development: bool = True,
    ) -> Contract:
        """Deploy the contract of another chain, which is then still to be registered."""
        made = chain_settings(
            self.bridgehub.address,
            self.manager.address,
            self.timelock.address,
            self.verifier.address,
            self.facets[0].address,
            self.facets[1].address,
            chain_id=chain_id,
            da=da,
            ratio=ratio,
            is_development=is_development,
        )
        return self.engine.deploy("ZKChain", made, sender=DEPLOYER)

    def left_out(self) -> dict[int, Reverted]:
        """Return the bundles that the last transaction has left out, by their logs, each with its reason."""
        found = self.engine.events(self.message_root)
        return {
            entry.fields["logIndex"]: error_of(entry.fields["reason"])
            for entry in found
            if entry.name == "BundleLeftOut"
        }

    def settled_proof(self, *logs: L2ToL1Log, index: int) -> tuple[int, list[bytes]]:
        return self.settle(*logs), proof_of(logs, index)


def settle(
    engine: Engine, timelock: Contract, chain: Contract, previous: Batch, batch: Batch
) -> None:
    for step, data in (
        ("commit", batch.commit_data(previous)),
        ("prove", batch.prove_data(previous)),
        ("execute", batch.execute_data()),
    ):
        engine.send(
            OPERATOR,
            timelock,
            f"{step}BatchesSharedBridge",
            chain.address,
            batch.number,
            batch.number,
            data,
        )


def deploy() -> Deployed:
    base = _deployed()
    return replace(base, engine=base.engine.fork(), last_batches={})


def chain_settings(
    hub: Address,
    manager: Address,
    timelock: Address,
    verifier: Address,
    *facets: Address,
    chain_id: int = CHAIN_ID,
    da: int = CALLDATA_DA,
    admin: Address = DEPLOYER,
    ratio: tuple[int, int] = (1, 1),
    is_development: bool = True,
    clock_limits: tuple[int, int] | None = None,
) -> tuple[object, ...]:
    limits = clock_limits or ((3 * DAY, 3600) if is_development else PRODUCTION_LIMITS)
    return (
        chain_id, hub, manager, admin, timelock, verifier, PROTOCOL_VERSION,
        da, *limits, 72_000_000, FEE_PARAMS, *facets, *ratio, is_development,
    )  # fmt: skip


@cache
def _deployed() -> Deployed:
    engine = Engine()
    for account in (DEPLOYER, OPERATOR, ALICE, BOB):
        engine.overlay.set_balance(account, 10_000 * ETHER)
    return deploy_on(engine, DEPLOYER, OPERATOR)


def deploy_on(engine: Engine, deployer: Address, operator: Address) -> Deployed:
    """Deploy everything by transactions of one account, and register a chain."""
    nonce = engine.nonce(deployer)
    # Each has the addresses of those that follow it.
    (
        hub,
        nullifier,
        vault,
        router,
        legacy,
        timelock,
        manager,
        verifier,
        chain,
        mailbox,
        executor,
        root,
        registrar,
    ) = (create_address(deployer, nonce + place) for place in range(13))
    settings = chain_settings(hub, manager, timelock, verifier, mailbox, executor, admin=deployer)

    def made(name: str, *arguments: object) -> Contract:
        return engine.deploy(name, *arguments, sender=deployer)

    genesis = Batch(number=0)
    deployed = Deployed(
        engine=engine,
        bridgehub=made("Bridgehub", deployer, router, vault, root, registrar),
        nullifier=made("L1Nullifier", hub, router, vault, legacy),
        vault=made("L1NativeTokenVault", router, root),
        router=made("L1AssetRouter", hub, nullifier, vault, legacy),
        legacy_bridge=made("L1ERC20Bridge", nullifier, router, CHAIN_ID),
        timelock=made("ValidatorTimelock", deployer, 0),
        manager=made("ChainTypeManager", hub, timelock, Address.zero(), PROTOCOL_VERSION),
        verifier=made("DevelopmentVerifier"),
        chain=made("ZKChain", settings),
        facets=(made("MailboxFacet", hub), made("ExecutorFacet", hub)),
        message_root=made("MessageRoot", hub, vault),
        registrar=made("ChainRegistrationSender", hub),
        genesis=genesis,
    )
    assert deployed.chain.address == chain
    engine.send(
        deployer, deployed.bridgehub, "registerChain",
        CHAIN_ID, manager, chain, asset_id(ETH_TOKEN), keccak256(stored(genesis.stored())),
    )  # fmt: skip
    engine.send(deployer, deployed.timelock, "addValidator", chain, operator)
    return deployed


def asset_id(token: Address, chain_id: int = L1_CHAIN_ID) -> Hash32:
    encoded = abi.encode(
        ["uint256", "address", "address"], [chain_id, L2_NATIVE_TOKEN_VAULT, token]
    )
    return Hash32(keccak256(encoded))


def burn_data(amount: int, receiver: Address, token: Address) -> bytes:
    return abi.encode(["uint256", "address", "address"], [amount, receiver, token])


def mint_data(receiver: Address, token: Address, amount: int) -> bytes:
    """Return the data by which the vault of L1 releases a withdrawal."""
    return abi.encode(
        ["address", "address", "address", "uint256", "bytes"], [ALICE, receiver, token, amount, b""]
    )


def direct(**fields: Any) -> tuple[Any, ...]:
    request = {
        "chain_id": CHAIN_ID,
        "mint_value": ETHER,
        "l2_contract": BOB,
        "l2_value": 0,
        "l2_calldata": b"",
        "l2_gas_limit": 1_000_000,
        "gas_per_pubdata": 800,
        "factory_deps": [],
        "refund_recipient": ALICE,
    }
    assert fields.keys() <= request.keys()
    return tuple((request | fields).values())


def two_bridges(bridge: Address, data: bytes, **fields: Any) -> tuple[Any, ...]:
    request = {
        "chain_id": CHAIN_ID,
        "mint_value": ETHER,
        "l2_value": 0,
        "l2_gas_limit": 1_000_000,
        "gas_per_pubdata": 800,
        "refund_recipient": ALICE,
        "bridge": bridge,
        "bridge_value": 0,
        "data": data,
    }
    assert fields.keys() <= request.keys()
    return tuple((request | fields).values())
