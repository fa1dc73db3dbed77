# pragma version ^0.4.0
"""
@title A vault
"""

event Paid:
    amount: uint256

owner: immutable(address)
count: public(uint256)
items: DynArray[uint256, 10]

@deploy
def __init__(limit: uint256):
    owner = msg.sender
    assert limit > 5, "limit"
    if limit > 100:
        self.count = 100
    else:
        self.count = limit

@internal
@pure
def _sign(n: int256) -> int256:
    """
    if this were code: it is not
    """
    if n > 0:
        return 1
    elif n < 0:
        return -1
    return 0

@internal
def _unused(n: uint256) -> uint256:
    return n + 1

@external
def sign(n: int256) -> int256:
    return self._sign(n)

@external
def fill(n: uint256):
    for i: uint256 in range(n, bound=10):
        if i == 7:
            break
        self.items.append(i)

@external
@view
def total() -> uint256:
    found: uint256 = 0
    for it: uint256 in self.items:
        if it == 1:
            continue
        found += it
    return found

@external
def pay(
    amount: uint256,
    ok: bool,
) -> uint256:
    assert ok
    assert amount < 10 and amount > 1, "amount # 1"
    self.count += (
        amount * 2
    )
    log Paid(amount=amount)
    return amount if amount > 5 else 0

@external
def refuse():
    raise "no"

@external
@payable
def __default__():
    self.count = 0
