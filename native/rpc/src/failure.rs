//! Calls that fail, as the `error` member of a response.

use revm::context_interface::result::{ExecutionResult as RevmResult, HaltReason};

use entresol_core::evm::revert_reason::describe_revert;

use super::hex::put_data;

/// Why a call failed.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// It reverted, with this data.
    Reverted(Vec<u8>),
    /// It halted, for this reason.
    Halted(String),
    /// An estimate ran out of gas at the most that it may have.
    AllowanceExceeded(u64),
}

impl Failure {
    /// Return why a call failed; None if it succeeded.
    pub fn of(result: &RevmResult) -> Option<Self> {
        match result {
            RevmResult::Success { .. } => None,
            RevmResult::Revert { output, .. } => Some(Self::Reverted(output.to_vec())),
            RevmResult::Halt { reason, .. } => Some(Self::Halted(reason.to_string())),
        }
    }
}

/// Whether a call ran out of gas.
pub fn is_out_of_gas(result: &RevmResult) -> bool {
    matches!(result, RevmResult::Halt { reason: HaltReason::OutOfGas(_), .. })
}

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
    /// The code of an estimate that runs out of gas.
    pub allowance_code: i32,
    /// What stands around the gas that an estimate may have.
    pub allowance: (String, String),
}

impl ErrorTexts {
    /// Return the `error` member of a failure, and its code.
    pub fn render(&self, failure: &Failure) -> (Vec<u8>, i32) {
        match failure {
            Failure::Reverted(data) => {
                let text = match describe_revert(data) {
                    None => self.reverted.clone(),
                    Some(reason) => format!("{}{reason}", self.reverted_because),
                };
                (error(self.revert_code, &text, Some(data)), self.revert_code)
            }
            Failure::Halted(reason) => (error(self.halt_code, reason, None), self.halt_code),
            Failure::AllowanceExceeded(gas) => {
                let text = format!("{}{gas}{}", self.allowance.0, self.allowance.1);
                (error(self.allowance_code, &text, None), self.allowance_code)
            }
        }
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
    use super::*;

    fn texts() -> ErrorTexts {
        ErrorTexts {
            revert_code: 3,
            reverted: "reverted".into(),
            reverted_because: "reverted: ".into(),
            halt_code: -32000,
            allowance_code: -32001,
            allowance: ("more than ".into(), " gas".into()),
        }
    }

    #[test]
    fn a_revert_has_its_data_even_if_there_is_none() {
        let (error, code) = texts().render(&Failure::Reverted(Vec::new()));
        assert_eq!(error, br#"{"code":3,"message":"reverted","data":"0x"}"#);
        assert_eq!(code, 3);
        let (error, _) = texts().render(&Failure::Reverted(b"a \"b\"".to_vec()));
        assert_eq!(error, br#"{"code":3,"message":"reverted: a \"b\"","data":"0x6120226222"}"#);
    }

    #[test]
    fn another_failure_has_its_text_alone() {
        let (error, _) = texts().render(&Failure::Halted("stack underflow".into()));
        assert_eq!(error, br#"{"code":-32000,"message":"stack underflow"}"#);
        let (error, _) = texts().render(&Failure::AllowanceExceeded(21_000));
        assert_eq!(error, br#"{"code":-32001,"message":"more than 21000 gas"}"#);
    }
}
