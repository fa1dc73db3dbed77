"""A gas report: each contract with its deployments and its functions, and how much gas they have used."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.contracts.abi_registry import AbiKey
from entresol.features.debugger.sources.definitions import CONSTRUCTOR, FALLBACK, RECEIVE
from entresol.features.debugger.sources.frame_places import UNKNOWN_SELECTOR
from entresol.features.debugger.sources.profile.amounts import Amounts
from entresol.features.debugger.sources.profile.totals import add_addresses

if TYPE_CHECKING:
    from entresol.features.debugger.sources.compiled import CompiledContract
    from entresol.features.debugger.sources.profile.totals import (
        FunctionKey,
        FunctionTotals,
        ProfileTotals,
    )
    from entresol.features.debugger.sources.registry import SourceRegistry

NO_SELECTOR: Final = "0x"
CREATIONS: Final = frozenset(("CREATE", "CREATE2"))
BY_CONTRACTS: Final = "contracts"
"""The caller, if that is not known more exactly: transactions and clients have no name."""

BEING_CREATED: Final = "<being created>"


class FunctionGas(msgspec.Struct):
    """The calls of a function, or the deployments of a contract."""

    name: str
    """Its name, with the types of its arguments if another one has the same; its selector if it is not known."""
    caller: str | None = None
    """None for transactions and calls of clients, `contracts` for calls of contracts, or the contract in whose account
    the function ran, such as a proxy."""
    succeeded: Amounts = msgspec.field(default_factory=Amounts)
    failed: Amounts = msgspec.field(default_factory=Amounts)

    @property
    def calls(self) -> int:
        """How often it was called."""
        return self.succeeded.count + self.failed.count

    @property
    def total(self) -> int:
        """The gas of all calls."""
        return self.succeeded.total + self.failed.total

    @property
    def shown(self) -> Amounts:
        """The amounts that tell what it costs: those of calls that succeeded, if any did."""
        return self.succeeded if self.succeeded.count else self.failed

    def merge(self, other: FunctionGas | FunctionTotals) -> None:
        """Add other calls."""
        self.succeeded.merge(other.succeeded)
        self.failed.merge(other.failed)


class ContractGas(msgspec.Struct):
    """A contract, its deployments and its functions."""

    name: str
    """Its name; the first address of one without a source."""
    file: str | None = None
    addresses: list[str] = []
    size: int = 0
    """The size of its largest deployed code, in bytes."""
    deployments: FunctionGas = msgspec.field(default_factory=lambda: FunctionGas(CONSTRUCTOR))
    functions: list[FunctionGas] = []

    @property
    def key(self) -> tuple[str, str]:
        """The key that tells it from others."""
        return self.name, self.file or ""

    @property
    def calls(self) -> int:
        """How often all of its functions were called."""
        return sum(function.calls for function in self.functions)

    @property
    def total(self) -> int:
        """The gas of its deployments and functions."""
        return self.deployments.total + sum(function.total for function in self.functions)

    def merge(self, other: ContractGas) -> None:
        """Add what others have."""
        add_addresses(self.addresses, other.addresses)
        self.size = max(self.size, other.size)
        self.deployments.merge(other.deployments)
        known = {(function.name, function.caller): function for function in self.functions}
        for function in other.functions:
            mine = known.get((function.name, function.caller))
            if mine is None:
                self.functions.append(function)
            else:
                mine.merge(function)
        self.sort()

    def sort(self) -> None:
        """Put the functions in the order of their names."""
        self.functions.sort(key=lambda it: (it.name, it.caller or ""))


class GasReport(msgspec.Struct):
    """The gas that contracts have used, by name."""

    contracts: list[ContractGas] = []
    executions: int = 0
    left_out: int = 0
    """Executions of which something is not in the report, because they took too long or had too many codes."""

    @classmethod
    def of(cls, totals: ProfileTotals, sources: SourceRegistry) -> GasReport:
        """Return the report of what was counted."""
        return _Builder(totals, sources).report()

    def merge(self, other: GasReport) -> None:
        """Add what another report has."""
        known = {contract.key: contract for contract in self.contracts}
        for contract in other.contracts:
            mine = known.get(contract.key)
            if mine is None:
                known[contract.key] = contract
            else:
                mine.merge(contract)
        self.contracts = sorted(known.values(), key=lambda it: it.key)
        self.executions += other.executions
        self.left_out += other.left_out


class _Builder:
    """Names what was counted."""

    def __init__(self, totals: ProfileTotals, sources: SourceRegistry) -> None:
        self._totals = totals
        self._contracts: dict[tuple[str, str], ContractGas] = {}
        self._compiled = {
            key: sources.find(code.code, is_creation=code.is_creation)
            for key, code in totals.codes.items()
        }
        self._functions: dict[tuple[tuple[str, str], str, str | None], FunctionGas] = {}
        self._overloaded: dict[tuple[str, str], frozenset[str]] = {}

    def report(self) -> GasReport:
        """Return the contracts and their functions, by name."""
        for key, totals in self._totals.functions.items():
            contract = self._contract(key.code)
            if key.kind in CREATIONS:
                contract.deployments.merge(totals)
                contract.size = max(contract.size, totals.size)
            else:
                self._function(contract, key).merge(totals)
        found = sorted(self._contracts.values(), key=lambda it: it.key)
        for contract in found:
            contract.sort()
        return GasReport(found, self._totals.executions, self._totals.left_out)

    def _contract(self, key: str) -> ContractGas:
        code = self._totals.codes[key]
        named = ContractGas(*self._named(key))
        contract = self._contracts.setdefault(named.key, named)
        add_addresses(contract.addresses, code.addresses)
        return contract

    def _named(self, key: str) -> tuple[str, str | None]:
        compiled, code = self._compiled[key], self._totals.codes[key]
        if compiled is not None:
            return compiled.name, compiled.file
        return (code.addresses[0] if code.addresses else BEING_CREATED), None

    def _function(self, contract: ContractGas, key: FunctionKey) -> FunctionGas:
        caller = None if key.is_outermost else BY_CONTRACTS
        if key.via:
            caller = self._named(key.via)[0]
        name = self._function_name(self._compiled[key.code], key.selector)
        place = contract.key, name, caller
        known = self._functions.get(place)
        if known is None:
            known = self._functions[place] = FunctionGas(name, caller)
            contract.functions.append(known)
        return known

    def _function_name(self, compiled: CompiledContract | None, selector: str) -> str:
        if compiled is None:
            return selector if selector != NO_SELECTOR else FALLBACK
        entry = compiled.abis.find(AbiKey("function", bytes.fromhex(selector[2:])))
        if entry is not None:
            return entry.signature if entry.name in self._overloads(compiled) else entry.name
        kinds = {entry.get("type") for entry in compiled.abi}
        if selector == NO_SELECTOR and "receive" in kinds:
            return RECEIVE
        return FALLBACK if "fallback" in kinds else UNKNOWN_SELECTOR

    def _overloads(self, compiled: CompiledContract) -> frozenset[str]:
        """Return the names that several functions of a contract have."""
        key = compiled.name, compiled.file
        if key not in self._overloaded:
            names = Counter(
                str(entry.get("name")) for entry in compiled.abi if entry.get("type") == "function"
            )
            self._overloaded[key] = frozenset(name for name in names if names[name] > 1)
        return self._overloaded[key]
