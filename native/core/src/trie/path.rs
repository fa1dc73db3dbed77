//! Paths through a trie, one nibble a byte, and their hex-prefix encoding.
//!
//! The paths of the usual trie crates hold 64 nibbles; these hold keys of any length, and a part of one
//! is a slice.

use super::error::Malformed;

/// Flag of the path of a leaf.
const LEAF: u8 = 0x20;
/// Flag of a path with an odd number of nibbles.
const ODD: u8 = 0x10;

/// Return the nibbles of `key`, the high one of each byte first.
pub fn unpack(key: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(key.len() * 2);
    unpack_into(key, &mut path);
    path
}

/// Append the nibbles of `key` to `path`.
pub fn unpack_into(key: &[u8], path: &mut Vec<u8>) {
    path.extend(key.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]));
}

/// Return the key whose nibbles `path` has.
pub fn pack(path: &[u8]) -> Result<Vec<u8>, Malformed> {
    let (pairs, rest) = path.as_chunks::<2>();
    match rest {
        [] => Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect()),
        _ => Err(Malformed("a key that ends within a byte")),
    }
}

/// Return the length of the common prefix of `left` and `right`.
pub fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// Return the size of the hex-prefix encoding of a path.
pub const fn encoded_len(nibbles: usize) -> usize {
    nibbles / 2 + 1
}

/// Append the hex-prefix encoding of `path` to `out`.
pub fn encode(path: &[u8], is_leaf: bool, out: &mut Vec<u8>) {
    let flag = if is_leaf { LEAF } else { 0 };
    let (odd, even) = path.split_at(path.len() % 2);
    out.push(odd.first().map_or(flag, |nibble| flag | ODD | nibble));
    out.extend(even.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
}

/// Decode a path, and return whether it is that of a leaf.
pub fn decode(bytes: &[u8]) -> Result<(Vec<u8>, bool), Malformed> {
    let (&first, rest) = bytes.split_first().ok_or(Malformed("a path without a prefix"))?;
    let is_odd = first & ODD != 0;
    if first & !(LEAF | ODD | 0x0f) != 0 || (!is_odd && first & 0x0f != 0) {
        return Err(Malformed("a path with an unknown prefix"));
    }
    let mut path = Vec::with_capacity(bytes.len() * 2);
    if is_odd {
        path.push(first & 0x0f);
    }
    unpack_into(rest, &mut path);
    Ok((path, first & LEAF != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_its_encoding() {
        for path in [&[][..], &[7], &[1, 2], &[15, 0, 3]] {
            for is_leaf in [false, true] {
                let mut bytes = Vec::new();
                encode(path, is_leaf, &mut bytes);
                assert_eq!(bytes.len(), encoded_len(path.len()));
                assert_eq!(decode(&bytes), Ok((path.to_vec(), is_leaf)));
            }
        }
    }

    #[test]
    fn the_encoding_is_that_of_the_yellow_paper() {
        let mut bytes = Vec::new();
        encode(&[1, 2, 3, 4, 5], false, &mut bytes);
        encode(&[0, 15, 1, 12, 11, 8], true, &mut bytes);
        assert_eq!(bytes, [0x11, 0x23, 0x45, 0x20, 0x0f, 0x1c, 0xb8]);
    }

    #[test]
    fn an_unknown_prefix_is_malformed() {
        for bytes in [&[][..], &[0x40], &[0x01], &[0x2f, 0x11], &[0x80]] {
            assert!(decode(bytes).is_err(), "{bytes:x?}");
        }
    }
}
