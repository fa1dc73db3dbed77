//! The fields of an encoded transaction, named for error messages.

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};

use super::{DecodeError, malformed};
use crate::rlp::{Item, Reader, RlpError};

/// The items of a list, read in order, each by its name.
pub(super) struct Fields<'a> {
    items: Reader<'a>,
    /// Bytes before the list, so that offsets refer to the whole input.
    skipped: usize,
    /// Path of this list in the transaction, a prefix of its field names.
    path: String,
}

impl<'a> Fields<'a> {
    /// Read the list that `data` encodes, which must have `count` items.
    pub(super) fn of(data: &'a [u8], skipped: usize, count: usize) -> Result<Self, DecodeError> {
        let shift = |mut error: RlpError| {
            error.offset += skipped;
            error
        };
        let mut outer = Reader::new(data);
        let Item::List(items) = outer.next().map_err(shift)? else {
            return Err(malformed(None, "a transaction is an rlp list"));
        };
        outer.finish().map_err(shift)?;
        let fields = Self { items, skipped, path: String::new() };
        fields.expect(count, None)?;
        Ok(fields)
    }

    /// Reject a list that does not have `count` items, without looking into the items.
    fn expect(&self, count: usize, field: Option<&str>) -> Result<(), DecodeError> {
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

    fn uint(&mut self, name: &str, width: usize) -> Result<U256, DecodeError> {
        let bytes = self.bytes(name)?;
        if bytes.first() == Some(&0) {
            return Err(self.wrong(name, "integer has a leading zero byte"));
        }
        if bytes.len() > width {
            let problem = format!("integer is at most {width} bytes, got {}", bytes.len());
            return Err(self.wrong(name, problem));
        }
        Ok(U256::from_be_slice(bytes))
    }

    /// Read an integer of at most 8 bytes.
    pub(super) fn small(&mut self, name: &str) -> Result<u64, DecodeError> {
        self.uint(name, 8).map(|value| value.to())
    }

    /// Read an integer of at most 16 bytes.
    pub(super) fn wei(&mut self, name: &str) -> Result<u128, DecodeError> {
        self.uint(name, 16).map(|value| value.to())
    }

    /// Read an integer of at most 32 bytes.
    pub(super) fn word(&mut self, name: &str) -> Result<U256, DecodeError> {
        self.uint(name, 32)
    }

    /// Read bytes of any length.
    pub(super) fn data(&mut self, name: &str) -> Result<Bytes, DecodeError> {
        self.bytes(name).map(Bytes::copy_from_slice)
    }

    fn fixed<const N: usize>(&mut self, name: &str, what: &str) -> Result<[u8; N], DecodeError> {
        let bytes = self.bytes(name)?;
        bytes
            .try_into()
            .map_err(|_| self.wrong(name, format!("{what} is {N} bytes, got {}", bytes.len())))
    }

    /// Read the recipient; empty creates a contract.
    pub(super) fn target(&mut self) -> Result<TxKind, DecodeError> {
        let mut ahead = self.items.clone();
        if let Ok(Item::Bytes([])) = ahead.next() {
            self.items = ahead;
            return Ok(TxKind::Create);
        }
        self.fixed("to", "an address").map(|to| TxKind::Call(to.into()))
    }

    /// Read an access list (EIP-2930).
    pub(super) fn access_list(&mut self) -> Result<AccessList, DecodeError> {
        let mut entries = self.list("accessList")?;
        let mut access_list = Vec::new();
        while !entries.items.is_empty() {
            let mut entry = entries.list(&format!("[{}]", access_list.len()))?;
            entry.expect(2, Some(&entry.path))?;
            let address = entry.fixed(".address", "an address").map(Address::from)?;
            let mut keys = entry.list(".storageKeys")?;
            let mut storage_keys = Vec::new();
            while !keys.items.is_empty() {
                let name = format!("[{}]", storage_keys.len());
                storage_keys.push(keys.fixed(&name, "a storage key").map(B256::from)?);
            }
            access_list.push(AccessListItem { address, storage_keys });
        }
        Ok(AccessList(access_list))
    }

    /// Read an authorization list (EIP-7702).
    pub(super) fn authorizations(&mut self) -> Result<Vec<SignedAuthorization>, DecodeError> {
        let mut entries = self.list("authorizationList")?;
        let mut authorizations = Vec::new();
        while !entries.items.is_empty() {
            let mut entry = entries.list(&format!("[{}]", authorizations.len()))?;
            entry.expect(6, Some(&entry.path))?;
            let inner = Authorization {
                chain_id: entry.word(".chainId")?,
                address: entry.fixed(".address", "an address").map(Address::from)?,
                nonce: entry.small(".nonce")?,
            };
            let y_parity = entry.uint(".yParity", 1)?.to();
            let (r, s) = (entry.word(".r")?, entry.word(".s")?);
            authorizations.push(SignedAuthorization::new_unchecked(inner, y_parity, r, s));
        }
        Ok(authorizations)
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
