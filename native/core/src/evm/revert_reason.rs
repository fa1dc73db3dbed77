//! What an execution reverted with, as text: reasons, panics of Solidity and custom errors.

use std::fmt::Write;

use alloy_primitives::{U256, hex};

/// A longer reason is cut in error messages; the error's data is always complete.
const MAX_REASON_BYTES: usize = 4_096;
/// Of `Error(string)`.
pub const ERROR_SELECTOR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
/// Of `Panic(uint256)`.
pub const PANIC_SELECTOR: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];
const SELECTOR_SIZE: usize = 4;
const WORD: usize = 32;

/// Return the text for what an execution reverted with, in anvil's wording; None if it is empty.
///
/// A custom error is shown by its selector, because its ABI is not known.
pub fn describe_revert(data: &[u8]) -> Option<String> {
    let reason = revert_reason(data).filter(|it| !it.is_empty()).or_else(|| bare_string(data));
    if reason.is_some() || data.is_empty() {
        return reason;
    }
    if data.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return Some(lossy(&data[..data.len().min(MAX_REASON_BYTES)]));
    }
    let Some((selector, arguments)) = data.split_at_checked(SELECTOR_SIZE) else {
        return Some(format!("custom error bytes 0x{}", hex::encode(data)));
    };
    let mut text = format!("custom error 0x{}", hex::encode(selector));
    if !arguments.is_empty() {
        text.push_str(": ");
        text.push_str(&hex::encode(&arguments[..arguments.len().min(MAX_REASON_BYTES)]));
        if arguments.len() > MAX_REASON_BYTES {
            text.push('…');
        }
    }
    Some(text)
}

/// Decode `Error(string)` or `Panic(uint256)`; None for a custom error or malformed data.
pub fn revert_reason(data: &[u8]) -> Option<String> {
    let (selector, arguments) = data.split_at_checked(SELECTOR_SIZE)?;
    if selector == ERROR_SELECTOR {
        string(arguments)
    } else if selector == PANIC_SELECTOR {
        panic(arguments)
    } else {
        None
    }
}

/// Decode a string without a selector, which some contracts revert with.
fn bare_string(data: &[u8]) -> Option<String> {
    let is_string = data.len().is_multiple_of(WORD) && word(data, 0) == Some(U256::from(WORD));
    is_string.then(|| string(data)).flatten()
}

fn string(arguments: &[u8]) -> Option<String> {
    let start = usize::try_from(word(arguments, 0)?).ok()?;
    let size = word(arguments, start)?;
    let bytes = &arguments[start + WORD..];
    let size = usize::try_from(size).ok().filter(|size| *size <= bytes.len())?;
    let mut text = lossy(&bytes[..size.min(MAX_REASON_BYTES)]);
    if size > MAX_REASON_BYTES {
        text.push('…');
    }
    Some(text)
}

/// Return the word at `start`, or None if the data ends before it does.
fn word(arguments: &[u8], start: usize) -> Option<U256> {
    arguments.get(start..start.checked_add(WORD)?).map(U256::from_be_slice)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn panic(arguments: &[u8]) -> Option<String> {
    let code = word(arguments, 0)?;
    let mut text = format!("panic: {} (0x", panic_text(code));
    let written =
        if code < U256::from(16) { write!(text, "0{code:x})") } else { write!(text, "{code:x})") };
    written.ok().map(|()| text)
}

/// The panic codes of Solidity, in anvil's wording.
fn panic_text(code: U256) -> &'static str {
    match u8::try_from(code) {
        Ok(0x00) => "generic/unspecified error",
        Ok(0x01) => "assertion failed",
        Ok(0x11) => "arithmetic underflow or overflow",
        Ok(0x12) => "division or modulo by zero",
        Ok(0x21) => "failed to convert value into enum type",
        Ok(0x22) => "storage byte array incorrectly encoded",
        Ok(0x31) => "called `.pop()` on an empty array",
        Ok(0x32) => "array out-of-bounds access",
        Ok(0x41) => "memory allocation error",
        Ok(0x51) => "called an invalid internal function",
        _ => "unknown code",
    }
}
