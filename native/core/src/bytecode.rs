//! The hash under which a factory dependency is published, and the form that it has.

use alloy_primitives::B256;
use sha2::{Digest, Sha256};

/// The size of a word of EraVM.
const WORD: usize = 32;
/// The size of the longest code.
pub const MAX_SIZE: usize = 0xffff * WORD;
/// The first byte of the hash.
const VERSION: u8 = 1;

/// Why code cannot be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BytecodeError {
    /// It is longer than [`MAX_SIZE`].
    TooLong(usize),
    /// Its size is not a multiple of a word.
    PartOfWord,
    /// It has an even number of words.
    EvenWords,
}

/// Return the hash of a factory dependency: version, number of words, and what is left of the SHA-256.
pub fn eravm_hash(code: &[u8]) -> Result<B256, BytecodeError> {
    let words = code.len() / WORD;
    if code.len() > MAX_SIZE {
        return Err(BytecodeError::TooLong(code.len()));
    }
    if !code.len().is_multiple_of(WORD) {
        return Err(BytecodeError::PartOfWord);
    }
    if words.is_multiple_of(2) {
        return Err(BytecodeError::EvenWords);
    }
    let mut hash: [u8; 32] = Sha256::digest(code).into();
    let [high, low] = (words as u16).to_be_bytes();
    hash[..4].copy_from_slice(&[VERSION, 0, high, low]);
    Ok(hash.into())
}

/// Whether code has the form of EraVM bytecode: an odd number of words, the first of which the EVM ends at.
pub fn is_era(code: &[u8]) -> bool {
    code.len() % (2 * WORD) == WORD && code[0] == 0
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    #[test]
    fn a_hash_has_version_and_words() {
        let expected = hex!("01000001f862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925");
        assert_eq!(eravm_hash(&[0; 32]), Ok(expected.into()));
        assert_eq!(eravm_hash(&[0; MAX_SIZE]).unwrap()[2..4], [0xff, 0xff]);
    }

    #[test]
    fn era_code_has_an_odd_number_of_words() {
        for (code, expected) in [(&[0; 32][..], true), (&[0; 96], true), (&[0; 64], false)] {
            assert_eq!(is_era(code), expected);
        }
        assert!(!is_era(&[]) && !is_era(&[0x60; 32]) && !is_era(&[0; 33]));
    }

    #[test]
    fn other_code_is_rejected_by_its_kind() {
        assert_eq!(eravm_hash(&[0; 64]), Err(BytecodeError::EvenWords));
        assert_eq!(eravm_hash(&[]), Err(BytecodeError::EvenWords));
        assert_eq!(eravm_hash(&[0; 31]), Err(BytecodeError::PartOfWord));
        assert_eq!(eravm_hash(&[0; MAX_SIZE + 1]), Err(BytecodeError::TooLong(MAX_SIZE + 1)));
    }
}
