//! Quantities and data as JSON text, and back.

use alloy_primitives::{Address, B256, Bytes, U256, hex};

/// Append a quantity.
pub fn put_quantity(out: &mut Vec<u8>, value: U256) {
    if let Ok(small) = u64::try_from(value) {
        return put_number(out, small);
    }
    let mut digits = [0; 64];
    hex::encode_to_slice(value.to_be_bytes::<32>(), &mut digits).expect("two digits a byte");
    put_digits(out, &digits[value.leading_zeros() / 4..]);
}

/// Append a number of 64 bits as a quantity.
pub fn put_number(out: &mut Vec<u8>, value: u64) {
    // For a few digits, a loop is shorter than the conversion of all.
    let mut text = *b"\"0x0000000000000000\"";
    let end = 3 + ((u64::BITS - value.leading_zeros()) as usize).div_ceil(4).max(1);
    let mut rest = value;
    for digit in text[3..end].iter_mut().rev() {
        *digit = b"0123456789abcdef"[(rest & 0xf) as usize];
        rest >>= 4;
    }
    text[end] = b'"';
    out.extend_from_slice(&text[..=end]);
}

fn put_digits(out: &mut Vec<u8>, digits: &[u8]) {
    out.extend_from_slice(b"\"0x");
    out.extend_from_slice(digits);
    out.push(b'"');
}

/// Append data.
pub fn put_data(out: &mut Vec<u8>, data: &[u8]) {
    out.extend_from_slice(b"\"0x");
    let start = out.len();
    out.resize(start + 2 * data.len(), 0);
    hex::encode_to_slice(data, &mut out[start..]).expect("two digits a byte");
    out.push(b'"');
}

/// Render a quantity.
pub fn render(value: U256) -> Vec<u8> {
    let mut out = Vec::with_capacity(68);
    put_quantity(&mut out, value);
    out
}

/// Render data.
pub fn render_data(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * data.len() + 4);
    put_data(&mut out, data);
    out
}

/// Render bytes as an array of numbers.
pub fn byte_array(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 * data.len() + 2);
    out.push(b'[');
    for (index, byte) in data.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        if *byte >= 100 {
            out.push(b'0' + byte / 100);
        }
        if *byte >= 10 {
            out.push(b'0' + byte / 10 % 10);
        }
        out.push(b'0' + byte % 10);
    }
    out.push(b']');
    out
}

/// Parse an address: `0x` and 40 digits.
pub fn parse_address(text: &str) -> Option<Address> {
    let mut address = Address::ZERO;
    hex::decode_to_slice(digits(text).filter(|it| it.len() == 40)?, address.as_mut_slice()).ok()?;
    Some(address)
}

/// Parse a hash: `0x` and 64 digits.
pub fn parse_hash(text: &str) -> Option<B256> {
    let mut hash = B256::ZERO;
    hex::decode_to_slice(digits(text).filter(|it| it.len() == 64)?, hash.as_mut_slice()).ok()?;
    Some(hash)
}

/// Parse data: `0x` and two digits a byte.
pub fn parse_data(text: &str) -> Option<Bytes> {
    hex::decode(digits(text)?).ok().map(Bytes::from)
}

/// Parse a number of 1 to `max_digits` hex digits.
pub fn quantity(text: &str, max_digits: usize) -> Option<U256> {
    let digits = digits(text).filter(|it| (1..=max_digits.min(64)).contains(&it.len()))?;
    // Faster than `from_str_radix`, which multiplies, and would skip underscores and signs.
    let mut padded = [b'0'; 64];
    padded[64 - digits.len()..].copy_from_slice(digits.as_bytes());
    let mut bytes = [0; 32];
    hex::decode_to_slice(padded, &mut bytes).ok()?;
    Some(U256::from_be_bytes(bytes))
}

/// Return what follows `0x`; a second prefix is not a digit, though decoders skip one.
fn digits(text: &str) -> Option<&str> {
    text.strip_prefix("0x").filter(|it| !it.starts_with("0x") && !it.starts_with("0X"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_has_no_leading_zeros() {
        for (value, expected) in [
            (U256::ZERO, "\"0x0\"".into()),
            (U256::from(0x1f), "\"0x1f\"".into()),
            (U256::from(u64::MAX), format!("\"0x{}\"", "f".repeat(16))),
            (U256::MAX, format!("\"0x{}\"", "f".repeat(64))),
        ] {
            assert_eq!(String::from_utf8(render(value)).expect("text"), expected);
            if let Ok(number) = u64::try_from(value) {
                let mut out = Vec::new();
                put_number(&mut out, number);
                assert_eq!(String::from_utf8(out).expect("text"), expected);
            }
        }
    }

    #[test]
    fn bytes_are_an_array_of_numbers() {
        assert_eq!(byte_array(&[]), b"[]");
        assert_eq!(byte_array(&[0, 9, 10, 99, 100, 205, 255]), b"[0,9,10,99,100,205,255]");
    }

    #[test]
    fn only_digits_behind_one_prefix_are_plain() {
        assert_eq!(quantity("0x00ff", 16), Some(U256::from(255)));
        assert_eq!(quantity(&format!("0x{}", "F".repeat(64)), 64), Some(U256::MAX));
        assert_eq!(quantity(&format!("0xx{}", "1".repeat(62)), 64), None);
        for text in ["", "0x", "ff", "0Xff", "0x0xff", "0xg", "0x+1", "0x1_0", "0x12345"] {
            assert_eq!(quantity(text, 4), None, "{text}");
        }
        assert_eq!(parse_data("0x"), Some(Bytes::new()));
        assert_eq!(parse_data("0x1"), None);
        assert_eq!(parse_address("0x1234"), None);
        assert_eq!(parse_hash(&format!("0x{}", "1".repeat(63))), None);
    }
}
