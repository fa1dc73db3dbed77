//! The fields of an encoded transaction, read one by one to report which of them is wrong.

use alloy_eips::eip4844::BYTES_PER_BLOB;

use super::error::{DecodeError, malformed};
use crate::rlp::{Item, Reader, RlpError};

/// Return the first error in `raw`, an encoded transaction of type 0 to 4.
pub(super) fn explain(raw: &[u8]) -> Option<DecodeError> {
    let body = raw.get(1..).unwrap_or_default();
    let checked = match raw.first()? {
        1 => check_access_list(body),
        2 => check_fee_market(body),
        3 => check_blobs(body),
        4 => check_set_code(body),
        _ => check_legacy(raw),
    };
    checked.err()
}

type Checked = Result<(), DecodeError>;

fn check_legacy(raw: &[u8]) -> Checked {
    let mut fields = Fields::of(raw, 0, 9)?;
    fields.uint("nonce", 8)?;
    fields.uint("gasPrice", 16)?;
    fields.uint("gasLimit", 8)?;
    fields.recipient()?;
    fields.uint("value", 32)?;
    fields.bytes("data")?;
    match fields.uint("v", 16)? {
        27 | 28 => {}
        v @ 35.. if (v - 35) / 2 <= u64::MAX.into() => {}
        35.. => return Err(malformed(Some("v"), "chain id is more than 8 bytes")),
        v => {
            let problem = format!("v is 27, 28 or from 35 on, got {v}");
            return Err(DecodeError::Signature(problem));
        }
    }
    fields.uint("r", 32)?;
    fields.uint("s", 32)?;
    Ok(())
}

fn check_access_list(body: &[u8]) -> Checked {
    let mut fields = Fields::of(body, 1, 11)?;
    fields.uint("chainId", 8)?;
    fields.uint("nonce", 8)?;
    fields.uint("gasPrice", 16)?;
    fields.uint("gasLimit", 8)?;
    fields.recipient()?;
    fields.uint("value", 32)?;
    fields.bytes("data")?;
    fields.access_list()?;
    fields.signature()
}

fn check_fee_market(body: &[u8]) -> Checked {
    let mut fields = Fields::of(body, 1, 12)?;
    fields.fee_market()?;
    fields.recipient()?;
    fields.uint("value", 32)?;
    fields.bytes("data")?;
    fields.access_list()?;
    fields.signature()
}

/// Read a blob transaction, bare or as the first of the items that a sidecar adds.
fn check_blobs(body: &[u8]) -> Checked {
    let mut outer = Fields::list_of(body, 1)?;
    if !matches!(outer.items.clone().next(), Ok(Item::List(_))) {
        return check_blob_fields(outer);
    }
    check_blob_fields(outer.list("")?)?;
    if matches!(outer.items.clone().next(), Ok(Item::Bytes(_))) {
        outer.uint("wrapperVersion", 1)?;
    }
    outer.fixed_list("blobs", "a blob", BYTES_PER_BLOB)?;
    outer.fixed_list("commitments", "a commitment", 48)?;
    outer.fixed_list("proofs", "a proof", 48)
}

fn check_blob_fields(mut fields: Fields<'_>) -> Checked {
    fields.expect(14, None)?;
    fields.fee_market()?;
    if fields.recipient()?.is_empty() {
        return Err(malformed(Some("to"), "a blob transaction cannot create"));
    }
    fields.uint("value", 32)?;
    fields.bytes("data")?;
    fields.access_list()?;
    fields.uint("maxFeePerBlobGas", 16)?;
    fields.fixed_list("blobVersionedHashes", "a versioned hash", 32)?;
    fields.signature()
}

fn check_set_code(body: &[u8]) -> Checked {
    let mut fields = Fields::of(body, 1, 13)?;
    fields.fee_market()?;
    if fields.recipient()?.is_empty() {
        return Err(malformed(Some("to"), "a set-code transaction cannot create"));
    }
    fields.uint("value", 32)?;
    fields.bytes("data")?;
    fields.access_list()?;
    fields.authorizations()?;
    fields.signature()
}

/// The items of a list, read in order, each by its name.
struct Fields<'a> {
    items: Reader<'a>,
    /// Bytes before the list, so that offsets refer to the whole input.
    skipped: usize,
    /// Path of this list in the transaction, a prefix of its field names.
    path: String,
}

impl<'a> Fields<'a> {
    /// Read the list that `data` encodes, which must have `count` items.
    fn of(data: &'a [u8], skipped: usize, count: usize) -> Result<Self, DecodeError> {
        let fields = Self::list_of(data, skipped)?;
        fields.expect(count, None)?;
        Ok(fields)
    }

    /// Read the list that `data` encodes.
    fn list_of(data: &'a [u8], skipped: usize) -> Result<Self, DecodeError> {
        let shift = |mut error: RlpError| {
            error.offset += skipped;
            error
        };
        let mut outer = Reader::new(data);
        let Item::List(items) = outer.next().map_err(shift)? else {
            return Err(malformed(None, "a transaction is an rlp list"));
        };
        outer.finish().map_err(shift)?;
        Ok(Self { items, skipped, path: String::new() })
    }

    /// Reject a list that does not have `count` items, without looking into the items.
    fn expect(&self, count: usize, field: Option<&str>) -> Checked {
        let mut items = self.items.clone();
        let mut found = 0;
        while !items.is_empty() {
            items.next().map_err(|error| self.at(field, error))?;
            found += 1;
        }
        if found == count {
            return Ok(());
        }
        Err(malformed(field, format!("{count} items expected, got {found}")))
    }

    fn bytes(&mut self, name: &str) -> Result<&'a [u8], DecodeError> {
        match self.items.next() {
            Ok(Item::Bytes(bytes)) => Ok(bytes),
            Ok(Item::List(_)) => Err(self.wrong(name, "a byte string is expected, got a list")),
            Err(error) => Err(self.at(Some(&self.name(name)), error)),
        }
    }

    fn list(&mut self, name: &str) -> Result<Fields<'a>, DecodeError> {
        let path = self.name(name);
        match self.items.next() {
            Ok(Item::List(items)) => Ok(Fields { items, skipped: self.skipped, path }),
            Ok(Item::Bytes(_)) => Err(self.wrong(name, "a list is expected, got a byte string")),
            Err(error) => Err(self.at(Some(&path), error)),
        }
    }

    /// Read an integer of at most `width` bytes; return its last 16.
    fn uint(&mut self, name: &str, width: usize) -> Result<u128, DecodeError> {
        let bytes = self.bytes(name)?;
        if bytes.first() == Some(&0) {
            return Err(self.wrong(name, "integer has a leading zero byte"));
        }
        if bytes.len() > width {
            let problem = format!("integer is at most {width} bytes, got {}", bytes.len());
            return Err(self.wrong(name, problem));
        }
        Ok(bytes.iter().fold(0, |value, byte| value << 8 | u128::from(*byte)))
    }

    fn fixed(&mut self, name: &str, what: &str, size: usize) -> Result<&'a [u8], DecodeError> {
        let bytes = self.bytes(name)?;
        match bytes.len() == size {
            true => Ok(bytes),
            false => Err(self.wrong(name, format!("{what} is {size} bytes, got {}", bytes.len()))),
        }
    }

    /// Read a list of byte strings of the same size.
    fn fixed_list(&mut self, name: &str, what: &str, size: usize) -> Checked {
        let mut items = self.list(name)?;
        for index in 0.. {
            if items.items.is_empty() {
                break;
            }
            items.fixed(&format!("[{index}]"), what, size)?;
        }
        Ok(())
    }

    /// Read the recipient, which is empty if the transaction creates a contract.
    fn recipient(&mut self) -> Result<&'a [u8], DecodeError> {
        let mut ahead = self.items.clone();
        if let Ok(Item::Bytes([])) = ahead.next() {
            self.items = ahead;
            return Ok(&[]);
        }
        self.fixed("to", "an address", 20)
    }

    /// Read what precedes the recipient in types 2, 3 and 4.
    fn fee_market(&mut self) -> Checked {
        self.uint("chainId", 8)?;
        self.uint("nonce", 8)?;
        self.uint("maxPriorityFeePerGas", 16)?;
        self.uint("maxFeePerGas", 16)?;
        self.uint("gasLimit", 8)?;
        Ok(())
    }

    /// Read an access list (EIP-2930).
    fn access_list(&mut self) -> Checked {
        self.entries("accessList", 2, |entry| {
            entry.fixed(".address", "an address", 20)?;
            entry.fixed_list(".storageKeys", "a storage key", 32)
        })
    }

    /// Read an authorization list (EIP-7702).
    fn authorizations(&mut self) -> Checked {
        self.entries("authorizationList", 6, |entry| {
            entry.uint(".chainId", 32)?;
            entry.fixed(".address", "an address", 20)?;
            entry.uint(".nonce", 8)?;
            entry.uint(".yParity", 1)?;
            entry.uint(".r", 32)?;
            entry.uint(".s", 32)?;
            Ok(())
        })
    }

    /// Read a list of lists of `count` fields each.
    fn entries(
        &mut self,
        name: &str,
        count: usize,
        read: impl Fn(&mut Fields<'a>) -> Checked,
    ) -> Checked {
        let mut entries = self.list(name)?;
        for index in 0.. {
            if entries.items.is_empty() {
                break;
            }
            let mut entry = entries.list(&format!("[{index}]"))?;
            entry.expect(count, Some(&entry.path))?;
            read(&mut entry)?;
        }
        Ok(())
    }

    /// Read the signature of a typed transaction.
    fn signature(&mut self) -> Checked {
        let parity = self.uint("yParity", 16)?;
        if parity > 1 {
            return Err(DecodeError::Signature(format!("yParity is 0 or 1, got {parity}")));
        }
        self.uint("r", 32)?;
        self.uint("s", 32)?;
        Ok(())
    }

    fn name(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }

    fn wrong(&self, name: &str, problem: impl Into<String>) -> DecodeError {
        malformed(Some(&self.name(name)), problem)
    }

    fn at(&self, field: Option<&str>, mut error: RlpError) -> DecodeError {
        error.offset += self.skipped;
        malformed(field, error.to_string())
    }
}
