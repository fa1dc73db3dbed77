//! The context that a paymaster keeps from its validation for `postTransaction`.

use alloy_primitives::{Bytes, U256};

/// The longest context of a paymaster.
const MAX_CONTEXT: usize = 1_024;
const WORD: usize = 32;

/// Return the context in what a paymaster has returned.
pub(super) fn read_context(output: &Bytes) -> Result<Bytes, &'static str> {
    const INVALID: &str = "Paymaster returned invalid context";
    let number = |start: usize| -> Option<usize> {
        let word = output.get(start..start.checked_add(WORD)?)?;
        U256::from_be_slice(word).try_into().ok()
    };
    let start = number(WORD).ok_or(INVALID)?;
    let size = number(start).ok_or(INVALID)?;
    if size > MAX_CONTEXT {
        return Err("Paymaster returned context that is too long");
    }
    let start = start + WORD;
    if output.len() - start < size {
        return Err(INVALID);
    }
    Ok(output.slice(start..start + size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(offset: u64, size: u64, content: usize) -> Bytes {
        let mut output = vec![0; WORD];
        output.extend_from_slice(&U256::from(offset).to_be_bytes::<WORD>());
        output.extend_from_slice(&U256::from(size).to_be_bytes::<WORD>());
        output.resize(output.len() + content, 7);
        output.into()
    }

    #[test]
    fn a_context_is_read_from_where_it_is() {
        assert_eq!(read_context(&reply(64, 0, 0)), Ok(Bytes::new()));
        assert_eq!(read_context(&reply(64, 3, 32)), Ok(vec![7; 3].into()));
        assert_eq!(read_context(&reply(64, 1_024, 1_024)), Ok(vec![7; 1_024].into()));
    }

    #[test]
    fn a_context_beyond_the_output_is_none() {
        for output in [reply(64, 1, 0), reply(65, 0, 0), reply(u64::MAX, 0, 0), Bytes::new()] {
            assert_eq!(read_context(&output), Err("Paymaster returned invalid context"));
        }
    }

    #[test]
    fn a_context_has_a_longest_size() {
        let reason = "Paymaster returned context that is too long";
        assert_eq!(read_context(&reply(64, 1_025, 1_056)), Err(reason));
    }
}
