//! Calls that fail, as the `error` member of a response.

use entresol_core::call::CallError;
use entresol_core::evm::revert_reason::describe_revert;

use super::hex::put_data;

/// The codes and texts of errors, which are Python's.
#[derive(Debug)]
pub struct ErrorTexts {
    /// The code of a revert.
    pub revert_code: i32,
    /// The text of a revert without a reason.
    pub reverted: String,
    /// What precedes the reason of a revert.
    pub reverted_because: String,
    /// The code of a halt.
    pub halt_code: i32,
    /// Of an estimate that runs out of gas.
    pub allowance: NumberError,
    /// Of a call that uses all the gas that it may have.
    pub gas_cap: NumberError,
}

/// An error whose text has a number.
#[derive(Debug)]
pub struct NumberError {
    /// The code.
    pub code: i32,
    /// What stands before the number.
    pub before: String,
    /// What stands behind it.
    pub after: String,
}

impl NumberError {
    fn of(&self, number: u64) -> (i32, String) {
        (self.code, format!("{}{number}{}", self.before, self.after))
    }
}

impl ErrorTexts {
    /// Return the `error` member of a failure, and its code; None for a kind that Python reports.
    pub fn render(&self, failure: &CallError) -> Option<(Vec<u8>, i32)> {
        let (code, text) = self.text(failure)?;
        let data = if let CallError::Reverted(data) = failure { Some(&data[..]) } else { None };
        Some((error(code, &text, data), code))
    }

    /// Return the code and the text of a failure; None for a kind that Python reports.
    pub fn text(&self, failure: &CallError) -> Option<(i32, String)> {
        Some(match failure {
            CallError::Reverted(data) => match describe_revert(data) {
                None => (self.revert_code, self.reverted.clone()),
                Some(reason) => (self.revert_code, format!("{}{reason}", self.reverted_because)),
            },
            CallError::Halted(reason) => (self.halt_code, reason.clone()),
            CallError::GasCapSpent(gas) => self.gas_cap.of(*gas),
            CallError::AllowanceExceeded(gas) => self.allowance.of(*gas),
            _ => return None,
        })
    }
}

fn error(code: i32, text: &str, data: Option<&[u8]>) -> Vec<u8> {
    let size = 64 + text.len() + data.map_or(0, |it| 2 * it.len());
    let mut out = Vec::with_capacity(size);
    out.extend_from_slice(b"{\"code\":");
    out.extend_from_slice(code.to_string().as_bytes());
    out.extend_from_slice(b",\"message\":");
    serde_json::to_writer(&mut out, text).expect("a text is written to memory");
    if let Some(data) = data {
        out.extend_from_slice(b",\"data\":");
        put_data(&mut out, data);
    }
    out.push(b'}');
    out
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Bytes;

    use super::*;

    fn texts() -> ErrorTexts {
        ErrorTexts {
            revert_code: 3,
            reverted: "reverted".into(),
            reverted_because: "reverted: ".into(),
            halt_code: -32000,
            allowance: number_error(-32001, "more than ", " gas"),
            gas_cap: number_error(-32002, "at most ", ""),
        }
    }

    fn number_error(code: i32, before: &str, after: &str) -> NumberError {
        NumberError { code, before: before.into(), after: after.into() }
    }

    fn rendered(failure: &CallError) -> (Vec<u8>, i32) {
        texts().render(failure).expect("has a text")
    }

    #[test]
    fn a_revert_has_its_data_even_if_there_is_none() {
        let (error, code) = rendered(&CallError::Reverted(Bytes::new()));
        assert_eq!(error, br#"{"code":3,"message":"reverted","data":"0x"}"#);
        assert_eq!(code, 3);
        let (error, _) = rendered(&CallError::Reverted(Bytes::from_static(b"a \"b\"")));
        assert_eq!(error, br#"{"code":3,"message":"reverted: a \"b\"","data":"0x6120226222"}"#);
    }

    #[test]
    fn another_failure_has_its_text_alone() {
        let (error, _) = rendered(&CallError::Halted("stack underflow".into()));
        assert_eq!(error, br#"{"code":-32000,"message":"stack underflow"}"#);
        let (error, _) = rendered(&CallError::AllowanceExceeded(21_000));
        assert_eq!(error, br#"{"code":-32001,"message":"more than 21000 gas"}"#);
        let (error, _) = rendered(&CallError::GasCapSpent(7));
        assert_eq!(error, br#"{"code":-32002,"message":"at most 7"}"#);
    }

    #[test]
    fn other_kinds_are_reported_by_python() {
        assert!(texts().render(&CallError::NumberTooLarge).is_none());
    }
}
