"""Deployment of the settlement contracts: its transactions, and the addresses that result."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import msgspec

from entresol.contracts import artifact
from entresol.errors import ExecutionFailed, LayerOneMismatch, LayerOneRejected, OperatorOutOfFunds
from entresol.l1.contracts import failure_reason
from entresol.l1.tx_manager import TxManager
from entresol.primitives import abi
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken, asset_id
from entresol.primitives.batches import DataScheme
from entresol.primitives.published.limits import MAX_PUBLISHED_BYTES
from entresol.primitives.values import Address, Hash32, create_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.l1.layer_one import LayerOne
    from entresol.l1.operator import Operator

_REGISTER_CHAIN: Final = "registerChain(uint256,address,address,bytes32,bytes32)"


class DeploymentStep(NamedTuple):
    """A transaction of the deployment; without a target it creates a contract."""

    description: str
    to: Address | None
    data: bytes
    sender: Address | None = None
    """The sender: the deployer, unless it is one of the development L1's accounts."""
    value: int = 0


class Registration(NamedTuple):
    """The call of the Bridgehub's owner that registers a chain."""

    bridgehub: Address
    chain_id: int
    chain_type_manager: Address
    chain: Address | None
    """Its contract; None as long as there is none."""
    base_token: Hash32
    genesis_batch_hash: Hash32

    def __str__(self) -> str:
        """Return the call as people write it."""
        chain = "<the contract of the chain>" if self.chain is None else self.chain.checksummed()
        arguments = (self.chain_type_manager.checksummed(), chain, self.base_token)
        shown = ", ".join(map(str, (self.chain_id, *arguments, self.genesis_batch_hash)))
        return f"{_REGISTER_CHAIN.partition('(')[0]}({shown}) of {self.bridgehub.checksummed()}"

    @property
    def step(self) -> DeploymentStep:
        """The transaction."""
        assert self.chain is not None
        arguments = (self.chain_id, self.chain_type_manager, self.chain, self.base_token)
        data = abi.encode_call(_REGISTER_CHAIN, *arguments, self.genesis_batch_hash)
        return DeploymentStep(f"register chain {self.chain_id}", self.bridgehub, data)


def creation(name: str, types: str, arguments: tuple[object, ...]) -> DeploymentStep:
    """Return what creates a contract, with the arguments of its constructor."""
    code = bytes(artifact(name).bytecode) + abi.encode(types, arguments)
    return DeploymentStep(f"deploy {name}", None, code)


def token_registration(
    vault: Address, token: Address, sender: Address | None = None
) -> DeploymentStep:
    """Return what registers a token with the vault, so that it can pay for gas; anyone may send it, and again."""
    data = abi.encode_call("ensureTokenIsRegistered(address)", token)
    return DeploymentStep("register the base token", vault, data, sender)


def validator_addition(
    description: str, timelock: Address, chain: Address, account: Address
) -> DeploymentStep:
    """Return what lets an account settle the batches of a chain; its admin has to send it."""
    data = abi.encode_call("addValidator(address,address)", chain, account)
    return DeploymentStep(description, timelock, data)


def pair_registration(registrar: Address, chain_id: int, registered_on: int) -> DeploymentStep:
    """Return what tells one chain of another; anyone may send it, once."""
    data = abi.encode_call("registerChain(uint256,uint256)", chain_id, registered_on)
    return DeploymentStep(f"tell chain {registered_on} of chain {chain_id}", registrar, data)


PROTOCOL_VERSION: Final = (0, 31, 0)

_CHAIN_SETTINGS: Final = (
    "((uint256,address,address,address,address,address,uint256,uint8,uint64,uint64,uint64,"
    "(uint8,uint32,uint32,uint32,uint32,uint64),address,address,uint128,uint128,bool))"
)
_NO_DELAY: Final = 0
_NO_LIMIT: Final = 2**40
_MAX_BATCH_AGE: Final = 7 * 86_400
_MAX_CLOCK_LEAD: Final = 15 * 60
_POLL_SECONDS: Final = 0.1
_NO_FUNDS: Final = "insufficient funds"


class L1FeeParams(msgspec.Struct, frozen=True, kw_only=True):
    """Fee parameters of priority requests; the names are the contract's."""

    batch_overhead_l1_gas: int = 1_000_000
    max_pubdata_per_batch: int = 120_000
    max_l2_gas_per_batch: int = 80_000_000
    priority_tx_max_pubdata: int = 99_000
    minimal_l2_gas_price: int = 100_000_000


class SettlementContracts(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses of the settlement contracts."""

    bridgehub: Address
    chain: Address
    asset_router: Address
    nullifier: Address
    native_token_vault: Address
    validator_timelock: Address
    chain_type_manager: Address
    verifier: Address
    legacy_bridge: Address
    bytecodes_supplier: Address
    message_root: Address
    chain_registration_sender: Address

    def of_another_chain(self, chain: Address) -> Self:
        """Return those of a chain after the first: the bridge of the first clients serves the first one alone.

        The router takes the same deposits of all.
        """
        return msgspec.structs.replace(self, chain=chain, legacy_bridge=self.asset_router)


_CREATED: Final = (
    "bridgehub",
    "asset_router",
    "nullifier",
    "native_token_vault",
    "legacy_bridge",
    "validator_timelock",
    "chain_type_manager",
    "verifier",
    "chain",
)
"""The order of creation, which determines the addresses."""
FACETS: Final = 2
"""The facets of the chain's contract, which follow."""
_ADDED: Final = ("bytecodes_supplier", "message_root", "chain_registration_sender")
"""The contracts after the facets."""
_CALLS: Final = 2
"""The calls that register a chain, once its contract is complete."""


def addresses_of(deployer: Address, first_nonce: int = 0) -> SettlementContracts:
    """Return the addresses of the contracts if `deployer` starts at `first_nonce`."""
    added = len(_CREATED) + FACETS
    places = {name: number for number, name in enumerate(_CREATED)}
    places |= {name: added + number for number, name in enumerate(_ADDED)}
    created = {name: create_address(deployer, first_nonce + at) for name, at in places.items()}
    return SettlementContracts(**created)


def contracts_of_chain(
    first: SettlementContracts,
    deployer: Address,
    index: int,
    first_nonce: int = 0,
    *,
    registrations: int = 0,
) -> SettlementContracts:
    """Return the contracts of a chain by its number, from those of the `first` one.

    The deployer has registered so many base tokens before.
    """
    if index == 0:
        return first
    # The calls of the first chain; then the contract of each other one and its calls.
    shared = len(_CREATED) + FACETS + len(_ADDED)
    before = shared + _CALLS + (index - 1) * (1 + _CALLS) + registrations
    chain = create_address(deployer, first_nonce + before)
    return first.of_another_chain(chain)


def facets_of(deployer: Address, first_nonce: int = 0) -> tuple[Address, Address]:
    """Return the addresses of the mailbox and the executor of the chain's contract."""
    mailbox, executor = (
        create_address(deployer, first_nonce + len(_CREATED) + number) for number in range(FACETS)
    )
    return mailbox, executor


class RegisteredChain(msgspec.Struct, frozen=True, kw_only=True):
    """An L2 that a deployment registers; its `operator` may settle its batches."""

    chain_id: int
    operator: Address
    genesis_batch_hash: Hash32
    fees: L1FeeParams = L1FeeParams()
    base_token: BaseToken = ETHER_TOKEN
    priority_tx_max_gas: int = 72_000_000
    """The maximum gas of a request, beyond its overhead: what a block of the L2 has."""
    is_development: bool = True
    """Whether its state may be edited, and its clock moved; L1 has it for good."""
    data_scheme: int = DataScheme.NONE


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of a deployment on one L1: shared contracts, and one for each chain.

    The deployer owns the contracts and administers the chains.
    """

    l1_chain_id: int
    deployer: Address
    chains: tuple[RegisteredChain, ...]
    """The first one has the bridge of the first clients, too."""
    first_nonce: int = 0
    registrar: Address | None = None
    """The account that registers base tokens with the vault. By default the deployer does, and contracts that follow
    have later nonces; those of the development L1 have the same addresses whatever the base tokens are."""

    @property
    def contracts(self) -> SettlementContracts:
        """The addresses of the contracts of the first chain."""
        return addresses_of(self.deployer, self.first_nonce)

    def contracts_of(self, chain_id: int) -> SettlementContracts:
        """Return the addresses of the contracts of a chain."""
        index = [chain.chain_id for chain in self.chains].index(chain_id)
        registered = () if self.registrar is not None else _tokens(self.chains[:index])
        first, nonce, count = self.contracts, self.first_nonce, len(registered)
        return contracts_of_chain(first, self.deployer, index, nonce, registrations=count)

    def steps(self) -> list[DeploymentStep]:
        """Return the transactions, in order."""
        first, *others = self.chains
        # A chain is not registered before its contract is complete.
        steps = [*self._creations(), *self._facets(), *self._added(), *self._calls(first)]
        for chain in others:
            steps += [self._chain(chain), *self._calls(chain)]
        return steps

    def _creations(self) -> list[DeploymentStep]:
        it, owner = self.contracts, self.deployer
        arguments: dict[str, tuple[str, str, tuple[object, ...]]] = {
            "bridgehub": (
                "Bridgehub",
                "(address,address,address,address,address)",
                (
                    *(owner, it.asset_router, it.native_token_vault),
                    *(it.message_root, it.chain_registration_sender),
                ),
            ),
            "asset_router": (
                "L1AssetRouter",
                "(address,address,address,address)",
                (it.bridgehub, it.nullifier, it.native_token_vault, it.legacy_bridge),
            ),
            "nullifier": (
                "L1Nullifier",
                "(address,address,address,address)",
                (it.bridgehub, it.asset_router, it.native_token_vault, it.legacy_bridge),
            ),
            "native_token_vault": (
                "L1NativeTokenVault",
                "(address,address)",
                (it.asset_router, it.message_root),
            ),
            "legacy_bridge": (
                "L1ERC20Bridge",
                "(address,address,uint256)",
                (it.nullifier, it.asset_router, self.chains[0].chain_id),
            ),
            "validator_timelock": ("ValidatorTimelock", "(address,uint32)", (owner, _NO_DELAY)),
            "chain_type_manager": (
                "ChainTypeManager",
                "(address,address,address,uint256)",
                (it.bridgehub, it.validator_timelock, it.bytecodes_supplier, packed_version()),
            ),
            "verifier": ("DevelopmentVerifier", "()", ()),
        }
        created = [creation(*arguments[name]) for name in _CREATED if name != "chain"]
        return [*created, self._chain(self.chains[0])]

    def _chain(self, chain: RegisteredChain) -> DeploymentStep:
        facets = facets_of(self.deployer, self.first_nonce)
        return chain_creation(chain, self.contracts, self.deployer, facets)

    def _facets(self) -> list[DeploymentStep]:
        hub = (self.contracts.bridgehub,)
        return [creation(name, "(address)", hub) for name in ("MailboxFacet", "ExecutorFacet")]

    def _added(self) -> list[DeploymentStep]:
        hub, vault = self.contracts.bridgehub, self.contracts.native_token_vault
        return [
            creation("BytecodesSupplier", "()", ()),
            creation("MessageRoot", "(address,address)", (hub, vault)),
            creation("ChainRegistrationSender", "(address)", (hub,)),
        ]

    def _calls(self, chain: RegisteredChain) -> list[DeploymentStep]:
        it = self.contracts_of(chain.chain_id)
        base_token = asset_id(self.l1_chain_id, chain.base_token.l1_address)
        return [
            *self._registrations(chain),
            Registration(
                bridgehub=it.bridgehub,
                chain_id=chain.chain_id,
                chain_type_manager=it.chain_type_manager,
                chain=it.chain,
                base_token=base_token,
                genesis_batch_hash=chain.genesis_batch_hash,
            ).step._replace(description="register the chain"),
            validator_addition(
                "let the operator settle batches", it.validator_timelock, it.chain, chain.operator
            ),
        ]

    def _registrations(self, chain: RegisteredChain) -> list[DeploymentStep]:
        """Return what registers the base token of a chain with the vault, if no chain before it has that one."""
        before = self.chains[: self.chains.index(chain)]
        new = [token for token in _tokens((*before, chain)) if token not in _tokens(before)]
        vault = self.contracts.native_token_vault
        return [token_registration(vault, token, self.registrar) for token in new]


def chain_creation(
    chain: RegisteredChain,
    contracts: SettlementContracts,
    admin: Address,
    facets: tuple[Address, Address],
) -> DeploymentStep:
    """Return what creates the contract of a chain beside these of its Bridgehub."""
    it, fees = contracts, chain.fees
    # Data that is not published on L1 has no fee.
    rollup_pricing, validium_pricing = 0, 1
    is_validium = chain.data_scheme == DataScheme.NONE
    # Developers move the clock of either layer as they like.
    limits = (_NO_LIMIT,) * 2 if chain.is_development else (_MAX_BATCH_AGE, _MAX_CLOCK_LEAD)
    settings = (
        chain.chain_id,
        it.bridgehub,
        it.chain_type_manager,
        admin,
        it.validator_timelock,
        it.verifier,
        packed_version(),
        *(chain.data_scheme, *limits),
        chain.priority_tx_max_gas,
        (
            validium_pricing if is_validium else rollup_pricing,
            fees.batch_overhead_l1_gas,
            fees.max_pubdata_per_batch if is_validium else MAX_PUBLISHED_BYTES,
            fees.max_l2_gas_per_batch,
            fees.priority_tx_max_pubdata,
            fees.minimal_l2_gas_price,
        ),
        *facets,
        *(chain.base_token.ether_price.nominator, chain.base_token.ether_price.denominator),
        chain.is_development,
    )
    return creation("ZKChain", _CHAIN_SETTINGS, (settings,))


def _tokens(chains: Sequence[RegisteredChain]) -> list[Address]:
    """Return the L1 addresses of the base tokens that have to be registered, each once; ether is already."""
    found = (chain.base_token for chain in chains)
    return list(dict.fromkeys(token.l1_address for token in found if not token.is_ether))


def packed_version() -> int:
    """Return the protocol version as the contracts encode it."""
    major, minor, patch = PROTOCOL_VERSION
    return major << 64 | minor << 32 | patch


async def deploy(
    l1: LayerOne,
    operator: Operator,
    deployment: Deployment,
    progress: Callable[[int, int, str], None],
    *,
    done: int = 0,
) -> SettlementContracts:
    """Send the transactions of a deployment, one after the other, reporting each to `progress`.

    The first `done` of them are on L1 already. Raises `LayerOneMismatch` if the operator cannot pay, or
    if one of them fails.
    """
    steps = deployment.steps()
    for number, step in enumerate(steps[done:], start=done):
        progress(number, len(steps), step.description)
        await send_step(l1, operator, step, deployment.first_nonce + number)
    progress(len(steps), len(steps), "done")
    return deployment.contracts


async def send_step(l1: LayerOne, operator: Operator, step: DeploymentStep, nonce: int) -> None:
    """Send a step with its own nonce, on which the addresses depend, and wait until L1 has used the nonce."""
    if not await l1.balance(operator.address):
        raise _no_funds(l1, operator)
    transactions = TxManager(operator)
    try:
        signed = await operator.sign_call(step.to, step.data, value=step.value)
        if signed.nonce > nonce:
            # An earlier run that was interrupted had sent it, and L1 has included it meanwhile.
            return
        await transactions.send(signed, time.monotonic())
        # An earlier run may have sent it too, and L1 may include that transaction instead.
        receipt = await transactions.included(step.description, _POLL_SECONDS)
    except OperatorOutOfFunds as error:
        raise _no_funds(l1, operator) from error
    except LayerOneRejected as error:
        if _NO_FUNDS in error.message.lower():
            raise _no_funds(l1, operator) from error
        raise
    except ExecutionFailed as error:
        raise LayerOneMismatch(
            f"{step.description} fails on {l1.name}: {failure_reason(error)}"
        ) from error
    if receipt is not None and not receipt.succeeded:
        raise LayerOneMismatch(
            f"{step.description} failed on {l1.name}: {receipt.transaction_hash}"
        )


def _no_funds(l1: LayerOne, operator: Operator) -> LayerOneMismatch:
    return LayerOneMismatch(
        f"{operator.name} {operator.address.checksummed()} has not enough funds on {l1.name}: send it some "
        "ether, or give the key of another account"
    )
