"""Random blocks with everything that a block can have."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol._native import address_of, keccak256, public_key, rlp_encode
from entresol._native import sign as sign_digest
from entresol.chain.edits import BlockSettings
from entresol.errors import InvalidTransaction, PoolRejection
from entresol.primitives.rlp import encode_uint
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    SignedPayload,
    Transaction,
    ZkTransaction,
    decode,
    impersonate,
    sign,
)
from entresol.primitives.values import Address, Hash32
from tests.support.chain.api_client import created_by
from tests.support.chain.dev_chain import fee_market, priority_transaction, root
from tests.support.chain.varied_chain import (
    CALLER,
    CODES,
    COUNTER,
    LOGGER,
    NOBODY,
    REVERTER,
    SECRETS,
    SENDERS,
    SIGNER,
    SLOT,
)
from tests.support.contracts.accounts import fill, paymaster_code, sign_by
from tests.support.contracts.layer_two import artifact_for_tests, encode

if TYPE_CHECKING:
    from tests.support.rollup.publishing_chain import PublishingChain

GAS: Final = 300_000
ETHER: Final = 10**18
PAYMASTER: Final = Address(b"\xb1" * 20)
EDITED: Final = Address(b"\xb2" * 20)
STRANGER: Final = Address(b"\xb3" * 20)
AUTHORITY: Final = Address(address_of(public_key(SIGNER)))


class Traffic:
    """Sends random transactions to a chain, and lets developers and L1 do what they can."""

    def __init__(self, operator: PublishingChain, seed: int = 0) -> None:
        self._operator = operator
        self._random = random.Random(seed)
        self._nonces: dict[Address, int] = {}
        self._roots = 0
        self._account: Address | None = None
        self.sent = 0

    @property
    def _fee(self) -> int:
        return 10 * self._operator.chain.next_base_fee()

    def begin(self) -> None:
        """Seal a block that deploys a contract account, and on a development chain one with a paymaster."""
        owner = SENDERS[0]
        code = bytes(artifact_for_tests("MultisigAccount").bytecode)
        arguments = encode("(address[],uint256)", [SENDERS[0], SENDERS[1]], 2)
        self._account = created_by(owner, self._nonce(owner))
        self._send(
            LegacyTransaction(
                nonce=0, gas_price=self._fee, gas_limit=5_000_000, chain_id=270, to=None, data=code + arguments,
            ),
            SECRETS[0],
        )  # fmt: skip
        self._pay(self._account)
        if self._operator.chain.rules.is_development:
            self._edit_paymaster()
        self.seal()

    def seal(self, seconds: int = 1) -> None:
        self._operator.seal(seconds)
        chain = self._operator.chain
        chain.pool.clear(chain.latest)
        self._nonces.clear()

    def block(self) -> None:
        choice = self._random
        if choice.random() < 0.2:
            step = choice.choice((0, 1, 1, 5))
            for _ in range(choice.randint(1, 6)):
                self.seal(step)
        if choice.random() < 0.3:
            self._price()
        if choice.random() < 0.3:
            self._import_roots()
        for _ in range(choice.choice((0, 0, 1, 3))):
            self._deposit()
        if self._operator.chain.rules.is_development:
            self._develop()
        for _ in range(choice.randint(0, 8)):
            self._transact()
        self.seal(choice.choice((0, 1, 2, 600)))

    def rewind(self) -> None:
        chain = self._operator.chain
        last = chain.batches.last()
        if last is not None and last.last_block < chain.number:
            chain.history.rewind(self._random.randint(last.last_block, chain.number - 1))
            chain.pool.clear(chain.latest)
            self._nonces.clear()

    def _develop(self) -> None:
        choice = self._random
        if choice.random() < 0.4:
            self._edit()
        if choice.random() < 0.3:
            self._set()
        if choice.random() < 0.4:
            self._impersonate()

    def _transact(self) -> None:
        choice = self._random
        index = choice.randrange(len(SECRETS))
        kind = choice.randrange(8)
        if kind == 0 and self._account is not None:
            self._send_by_account()
        elif kind == 1:
            self._send(self._zk(index), SECRETS[index])
        else:
            self._send(choice.choice(list(self._payloads())), SECRETS[index])

    def _payloads(self) -> list[SignedPayload]:
        fee = self._fee
        priced: dict[str, Any] = {"gas_price": fee, "gas_limit": GAS, "nonce": 0}
        capped: dict[str, Any] = {
            "chain_id": 270, "max_fee_per_gas": fee, "max_priority_fee_per_gas": 1, "gas_limit": GAS, "nonce": 0,
        }  # fmt: skip
        accesses = (Access(LOGGER, (SLOT,)), Access(NOBODY), Access(COUNTER, (SLOT,)))
        to = self._random.choice(list(CODES))
        gas = 2_000_000 if to == CALLER else GAS
        return [
            LegacyTransaction(**priced, to=NOBODY, value=5),
            LegacyTransaction(**priced, chain_id=270, to=None, data=bytes.fromhex("60016000f3")),
            FeeMarketTransaction(**capped, to=None, data=b"\xfe"),
            FeeMarketTransaction(
                **(capped | {"gas_limit": gas}), to=to, data=self._random.randbytes(5), value=7
            ),
            LegacyTransaction(**(priced | {"gas_limit": 30_000}), chain_id=270, to=COUNTER),
            AccessListTransaction(**priced, chain_id=270, to=COUNTER, access_list=accesses),
            FeeMarketTransaction(**capped, to=LOGGER, access_list=accesses, data=b"\xff" * 40),
            SetCodeTransaction(**capped, to=LOGGER, authorizations=(self._authorization(),)),
        ]

    def _zk(self, index: int) -> ZkTransaction:
        fields: dict[str, Any] = {"max_fee_per_gas": self._fee, "to": LOGGER}
        chain = self._operator.chain
        has_paymaster = chain.latest.account(PAYMASTER) is not None
        if has_paymaster and self._random.random() < 0.5:
            fields["paymaster"] = PAYMASTER
        if self._random.random() < 0.3:
            fields["factory_deps"] = (self._random.randbytes(32), bytes(96))
        return fill(SENDERS[index], **fields)

    def _send_by_account(self) -> None:
        assert self._account is not None
        payload = fill(
            self._account,
            to=NOBODY,
            value=3,
            nonce=self._account_nonce(),
            max_fee_per_gas=self._fee,
            gas_limit=2_000_000,
        )
        self._add(decode(sign_by(payload, SECRETS[0], SECRETS[1]).encode()))

    def _account_nonce(self) -> int:
        """Return the nonce of the contract account; one transaction of it a block is enough."""
        chain = self._operator.chain
        slot = keccak256(bytes(12) + bytes(self._account or b"") + bytes(32))
        holder = Address(bytes(18) + b"\x80\x03")
        return int.from_bytes(chain.latest.slot(holder, slot)) & (2**128 - 1)

    def _authorization(self) -> Authorization:
        account = self._operator.chain.latest.account(AUTHORITY)
        nonce = 0 if account is None else account.nonce
        target = self._random.choice((LOGGER, COUNTER, Address.zero()))
        digest = keccak256(b"\x05" + rlp_encode([encode_uint(270), target, encode_uint(nonce)]))
        signature = sign_digest(digest, SIGNER)
        r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
        return Authorization(270, target, nonce, signature[64], r, s)

    def _pay(self, to: Address) -> None:
        payload = LegacyTransaction(
            nonce=0, gas_price=self._fee, gas_limit=GAS, chain_id=270, to=to, value=100 * ETHER
        )
        self._send(payload, SECRETS[1])

    def _deposit(self) -> None:
        choice, fee = self._random, self._fee
        kind = choice.randrange(4)
        to = REVERTER if kind == 1 else choice.choice((LOGGER, NOBODY, COUNTER))
        gas_limit = 80_000_000 if choice.random() < 0.1 else GAS
        self._operator.deposit(
            priority_transaction(
                sender=choice.choice(SENDERS), to=to, value=choice.randrange(1_000), gas_limit=gas_limit, fee=fee,
                # One that mints too little cannot start.
                to_mint=1 if kind == 2 else None,
            )
        )  # fmt: skip

    def _import_roots(self) -> None:
        count = self._random.randint(1, 4)
        first = self._roots + 1
        self._roots += count
        found = [root(number) for number in range(first, first + count)]
        self._operator.chain.filler.roots.extend(found)

    def _price(self) -> None:
        self._operator.fees.observe(self._random.choice((0, 1, 10**9, 3 * 10**9, 10**12)))

    def _edit_paymaster(self) -> None:
        chain = self._operator.chain
        # It pays more than any transaction of its senders costs.
        code = bytes.fromhex(paymaster_code(fee=500_000 * 20 * chain.next_base_fee()))
        chain.edit(PAYMASTER, lambda state: state.set_code(PAYMASTER, code))
        chain.edit(PAYMASTER, lambda state: state.set_balance(PAYMASTER, 10**9 * ETHER))

    def _edit(self) -> None:
        chain, choice = self._operator.chain, self._random
        other = Address(bytes([0xC0 + choice.randrange(4)]) * 20)
        code = bytes([0x60, choice.randrange(4), 0x60, 0, 0x55])
        slot, value = choice.randrange(3).to_bytes(32), choice.randrange(3).to_bytes(32)
        for change in choice.sample(
            (
                lambda state: state.set_balance(EDITED, choice.randrange(5)),
                lambda state: state.set_code(other, code),
                lambda state: state.set_slot(other, slot, value),
                lambda state: state.set_account(other, None),
                lambda state: state.set_balance(COUNTER, 7),
                lambda state: state.set_slot(COUNTER, bytes(32), bytes(32)),
            ),
            choice.randint(1, 3),
        ):
            chain.edit(other, change, EDITED, COUNTER)

    def _set(self) -> None:
        choice = self._random
        self._operator.chain.configure(
            BlockSettings(
                gas_limit=choice.choice((None, 29_000_000, 40_000_000)),
                beneficiary=choice.choice((None, EDITED)),
                base_fee=choice.choice((None, 7, 10**8)),
                prevrandao=choice.choice((None, Hash32(choice.randbytes(32)))),
            )
        )

    def _impersonate(self) -> None:
        chain = self._operator.chain
        sender = self._random.choice((STRANGER, COUNTER))
        chain.edit(sender, lambda state: state.set_balance(sender, 10**9 * ETHER))
        nonce = self._nonce(sender)
        payload: SignedPayload = fee_market(nonce, LOGGER, value=1, gas=GAS, fee=self._fee)
        if self._random.random() < 0.3 and sender == STRANGER:
            payload = fill(sender, nonce=nonce, max_fee_per_gas=self._fee)
        self._add(impersonate(payload, sender))

    def _nonce(self, sender: Address) -> int:
        known = self._nonces.get(sender)
        if known is None:
            account = self._operator.chain.latest.account(sender)
            known = 0 if account is None else account.nonce
        return known

    def _send(self, payload: SignedPayload, secret: bytes) -> None:
        sender = SENDERS[SECRETS.index(secret)]
        self._add(
            sign(msgspec.structs.replace(payload, nonce=self._nonce(sender)), secret, sender=sender)
        )

    def _add(self, transaction: Transaction) -> None:
        with suppress(InvalidTransaction, PoolRejection):
            self._operator.chain.add(transaction)
            self._nonces[transaction.sender] = transaction.payload.nonce + 1
            self.sent += 1
