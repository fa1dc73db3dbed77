"""Just enough elliptic curve arithmetic to make inputs for the precompiles."""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[int, int]


@dataclass(frozen=True)
class Curve:
    """A curve y² = x³ + ax + b over a prime field, and a generator of its group of order n."""

    p: int
    a: int
    b: int
    n: int
    generator: Point

    def add(self, left: Point | None, right: Point | None) -> Point | None:
        """Add two points; None is the one at infinity."""
        if left is None or right is None:
            return left or right
        (x1, y1), (x2, y2) = left, right
        if x1 == x2 and (y1 + y2) % self.p == 0:
            return None
        if left == right:
            slope = (3 * x1 * x1 + self.a) * pow(2 * y1, -1, self.p)
        else:
            slope = (y2 - y1) * pow(x2 - x1, -1, self.p)
        x = (slope * slope - x1 - x2) % self.p
        return x, (slope * (x1 - x) - y1) % self.p

    def multiply(self, scalar: int, point: Point | None = None) -> Point | None:
        """Return the multiple of `point`, or of the generator."""
        addend, total = point or self.generator, None
        step: Point | None = addend
        for bit in reversed(f"{scalar:b}"):
            total = self.add(total, step) if bit == "1" else total
            step = self.add(step, step)
        return total

    def negate(self, point: Point) -> Point:
        """Return the point opposite."""
        return point[0], -point[1] % self.p

    def some_point(self, start: int) -> Point:
        """Return a point of the curve, hardly ever of the group, with an x not far above `start`."""
        for x in range(start, start + 1000):
            square = (x**3 + self.a * x + self.b) % self.p
            y = pow(square, (self.p + 1) // 4, self.p)
            if y * y % self.p == square:
                return x, y
        raise ValueError("no point near")


BN254 = Curve(
    p=0x30644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD47,
    a=0,
    b=3,
    n=0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001,
    generator=(1, 2),
)
# As the pairing takes it: imaginary part first.
BN254_G2 = (
    0x198E9393920D483A7260BFB731FB5D25F1AA493335A9E71297E485B7AEF312C2,
    0x1800DEEF121F1E76426A00665E5C4479674322D4F75EDADD46DEBD5CD992F6ED,
    0x090689D0585FF075EC9E99AD690C3395BC4B313370B38EF355ACDADCD122975B,
    0x12C85EA5DB8C6DEB4AAB71808DCB408FE3D1E7690C43D37B4CE6CC0166FA7DAA,
)

P256 = Curve(
    p=0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF,
    a=-3,
    b=0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
    n=0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    generator=(
        0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
        0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
    ),
)

BLS12 = Curve(
    p=0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB,
    a=0,
    b=4,
    n=0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001,
    generator=(
        0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
        0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
    ),
)
# As the precompiles take it: real part first.
BLS12_G2 = (
    0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
    0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
    0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
    0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
)


def sign_p256(digest: bytes, key: int, nonce: int) -> tuple[int, int]:
    """Sign as ECDSA does."""
    point = P256.multiply(nonce)
    assert point is not None
    r = point[0] % P256.n
    return r, pow(nonce, -1, P256.n) * (int.from_bytes(digest, "big") + r * key) % P256.n
