//! Keccak-256 and ECDSA over secp256k1, as Ethereum uses them.

use alloy_primitives::{Address, B256, keccak256};
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use secp256k1::{Message, PublicKey, SECP256K1, SecretKey};
use thiserror::Error;

/// The order of the curve, big-endian.
pub const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
    0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
];

/// Half the order of the curve: the largest `s` that is not malleable.
pub const HALF_ORDER: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
];

/// Why a key or a signature cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CryptoError {
    /// The signature is not 65 bytes.
    #[error("a signature is 65 bytes, got {0}")]
    Length(usize),
    /// The last byte is not a parity.
    #[error("parity is 0, 1, 27 or 28, got {0}")]
    Parity(u8),
    /// `r` or `s` is zero.
    #[error("{0} is zero")]
    Zero(&'static str),
    /// `r` or `s` is not a scalar of the curve.
    #[error("{0} is not below the order of the curve")]
    OutOfRange(&'static str),
    /// `s` is the larger of the two that sign the same digest.
    #[error("s is in the upper half of the order of the curve")]
    HighS,
    /// No public key gives this signature.
    #[error("no public key gives this signature")]
    NoKey,
    /// The secret is zero or not below the order.
    #[error("a secret key is from 1 to the order of the curve - 1")]
    Secret,
    /// The 64 bytes are not a point of the curve.
    #[error("a public key is a point on the curve")]
    PublicKey,
}

/// Recover the address that signed `digest` from `r ‖ s ‖ parity`.
pub fn recover(digest: &B256, signature: &[u8]) -> Result<Address, CryptoError> {
    if signature.len() != 65 {
        return Err(CryptoError::Length(signature.len()));
    }
    let y_parity = match signature[64] {
        0 | 27 => false,
        1 | 28 => true,
        other => return Err(CryptoError::Parity(other)),
    };
    let mut compact = [0; 64];
    compact.copy_from_slice(&signature[..64]);
    recover_compact(digest, &compact, y_parity)
}

/// Recover the address that signed `digest` from `r ‖ s` and the parity of the y coordinate.
pub fn recover_compact(
    digest: &B256,
    rs: &[u8; 64],
    y_parity: bool,
) -> Result<Address, CryptoError> {
    check_scalars(rs)?;
    let parity = if y_parity { RecoveryId::One } else { RecoveryId::Zero };
    let signature =
        RecoverableSignature::from_compact(rs, parity).map_err(|_| CryptoError::NoKey)?;
    let key = SECP256K1
        .recover_ecdsa(Message::from_digest(digest.0), &signature)
        .map_err(|_| CryptoError::NoKey)?;
    Ok(address_of_key(&key))
}

/// Reject an `r` or `s` out of range, and a high `s` (EIP-2).
pub fn check_scalars(rs: &[u8; 64]) -> Result<(), CryptoError> {
    let (r, s) = rs.split_at(32);
    for (name, scalar) in [("r", r), ("s", s)] {
        if scalar.iter().all(|byte| *byte == 0) {
            return Err(CryptoError::Zero(name));
        }
        if scalar >= ORDER.as_slice() {
            return Err(CryptoError::OutOfRange(name));
        }
    }
    if s > HALF_ORDER.as_slice() {
        return Err(CryptoError::HighS);
    }
    Ok(())
}

/// Sign `digest` deterministically (RFC 6979); return `r ‖ s ‖ parity` with a low `s` and parity 0 or 1.
pub fn sign(digest: &B256, secret: &B256) -> Result<[u8; 65], CryptoError> {
    let secret = SecretKey::from_byte_array(secret.0).map_err(|_| CryptoError::Secret)?;
    let signature = SECP256K1.sign_ecdsa_recoverable(Message::from_digest(digest.0), &secret);
    let (parity, compact) = signature.serialize_compact();
    let mut out = [0; 65];
    out[..64].copy_from_slice(&compact);
    out[64] = i32::from(parity) as u8;
    Ok(out)
}

/// Return the public key of `secret`: both coordinates of its point.
pub fn public_key(secret: &B256) -> Result<[u8; 64], CryptoError> {
    let secret = SecretKey::from_byte_array(secret.0).map_err(|_| CryptoError::Secret)?;
    Ok(coordinates(&PublicKey::from_secret_key(SECP256K1, &secret)))
}

/// Return the address of a public key, given by its coordinates.
pub fn address_of(coordinates: &[u8; 64]) -> Result<Address, CryptoError> {
    let mut uncompressed = [4; 65];
    uncompressed[1..].copy_from_slice(coordinates);
    PublicKey::from_slice(&uncompressed)
        .map(|key| address_of_key(&key))
        .map_err(|_| CryptoError::PublicKey)
}

fn address_of_key(key: &PublicKey) -> Address {
    Address::from_slice(&keccak256(coordinates(key))[12..])
}

fn coordinates(key: &PublicKey) -> [u8; 64] {
    let mut out = [0; 64];
    out.copy_from_slice(&key.serialize_uncompressed()[1..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{U256, address, b256};

    const SECRET: B256 = b256!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
    const SIGNER: Address = address!("f39fd6e51aad88f6f4ce6ab8827279cfffb92266");
    const DIGEST: B256 = B256::repeat_byte(7);

    fn signature() -> [u8; 65] {
        sign(&DIGEST, &SECRET).unwrap()
    }

    #[test]
    fn a_signature_recovers_to_its_signer_in_both_parity_forms() {
        let mut signature = signature();
        assert_eq!(recover(&DIGEST, &signature), Ok(SIGNER));
        signature[64] += 27;
        assert_eq!(recover(&DIGEST, &signature), Ok(SIGNER));
    }

    #[test]
    fn a_public_key_has_the_address_of_its_signer() {
        assert_eq!(address_of(&public_key(&SECRET).unwrap()), Ok(SIGNER));
        assert_eq!(address_of(&[1; 64]), Err(CryptoError::PublicKey));
    }

    #[test]
    fn the_mirrored_signature_is_rejected() {
        let mut mirrored = signature();
        let s = U256::from_be_slice(&mirrored[32..64]);
        let order = U256::from_be_bytes(ORDER);
        mirrored[32..64].copy_from_slice(&(order - s).to_be_bytes::<32>());
        mirrored[64] ^= 1;
        assert_eq!(recover(&DIGEST, &mirrored), Err(CryptoError::HighS));
    }

    #[test]
    fn half_the_order_is_half_the_order() {
        assert_eq!(U256::from_be_bytes(HALF_ORDER), U256::from_be_bytes(ORDER) >> 1);
    }

    #[test]
    fn scalars_out_of_range_are_rejected_by_name() {
        for (range, name) in [(0..32, "r"), (32..64, "s")] {
            let mut bad = signature();
            bad[range.clone()].fill(0);
            assert_eq!(recover(&DIGEST, &bad), Err(CryptoError::Zero(name)));
            bad[range].copy_from_slice(&ORDER);
            assert_eq!(recover(&DIGEST, &bad), Err(CryptoError::OutOfRange(name)));
        }
    }

    #[test]
    fn other_parities_and_lengths_are_rejected() {
        let mut bad = signature();
        bad[64] = 2;
        assert_eq!(recover(&DIGEST, &bad), Err(CryptoError::Parity(2)));
        assert_eq!(recover(&DIGEST, &bad[..64]), Err(CryptoError::Length(64)));
    }

    #[test]
    fn an_r_off_the_curve_has_no_key() {
        let mut bad = signature();
        bad[..32].fill(0);
        bad[31] = 5;
        assert_eq!(recover(&DIGEST, &bad), Err(CryptoError::NoKey));
    }

    #[test]
    fn secrets_out_of_range_are_rejected() {
        for secret in [B256::ZERO, B256::from(ORDER)] {
            assert_eq!(sign(&DIGEST, &secret), Err(CryptoError::Secret));
            assert_eq!(public_key(&secret), Err(CryptoError::Secret));
        }
    }
}
