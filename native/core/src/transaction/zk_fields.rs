//! The fields of a transaction of type 0x71, read one by one, and what may be wrong with each.

use alloy_primitives::{Address, Bytes, U256};

use crate::bytecode::BytecodeError;
use crate::rlp::{Item, Reader, RlpError};

/// The number of fields.
const FIELD_COUNT: usize = 16;

/// Why bytes or fields are not a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZkError {
    /// The bytes are not RLP.
    Rlp(RlpError),
    /// They are not a list.
    NoList,
    /// The list has another number of fields.
    FieldCount(usize),
    /// A field is wrong, or an item in it.
    Field {
        /// Which field.
        field: usize,
        /// Which of the items in it.
        item: Option<usize>,
        /// How.
        problem: FieldError,
    },
    /// The nonce has more than 32 bits.
    Nonce,
    /// `v` is that of no signature.
    V(u64),
    /// There are more factory dependencies than [`MAX_FACTORY_DEPS`].
    TooManyDependencies(usize),
    /// A factory dependency cannot be published.
    Dependency(usize, BytecodeError),
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldError {
    /// It is a list, not bytes.
    List,
    /// It is bytes, not a list.
    Bytes,
    /// The number begins with a zero.
    LeadingZero,
    /// The number has more bytes than it may have.
    TooLong(usize, usize),
    /// An address has another size.
    AddressSize(usize),
    /// There is no target.
    NoTarget,
    /// The list has another number of items.
    ItemCount(usize, usize),
}

impl From<RlpError> for ZkError {
    fn from(error: RlpError) -> Self {
        Self::Rlp(error)
    }
}

/// The items of a list, in order; a field of another form is an error that has its position.
pub(super) struct Fields<'a> {
    items: Reader<'a>,
    /// The next one.
    next: usize,
    /// The field that the list is, if it is one.
    inside: Option<usize>,
}

impl<'a> Fields<'a> {
    /// Read the list of a transaction, which has as many items as it must have.
    pub(super) fn of(raw: &'a [u8]) -> Result<Self, ZkError> {
        let mut outer = Reader::new(raw.get(1..).unwrap_or_default());
        let item = outer.next()?;
        outer.finish()?;
        let Item::List(items) = item else { return Err(ZkError::NoList) };
        match count(&items)? {
            FIELD_COUNT => Ok(Self { items, next: 0, inside: None }),
            other => Err(ZkError::FieldCount(other)),
        }
    }

    pub(super) fn skip_to(&mut self, field: usize) -> Result<(), ZkError> {
        while self.next < field {
            self.item()?;
        }
        Ok(())
    }

    fn item(&mut self) -> Result<Item<'a>, ZkError> {
        self.next += 1;
        Ok(self.items.next()?)
    }

    fn slice(&mut self) -> Result<&'a [u8], ZkError> {
        match self.item()? {
            Item::Bytes(bytes) => Ok(bytes),
            Item::List(_) => Err(self.wrong(FieldError::List)),
        }
    }

    fn list(&mut self) -> Result<Fields<'a>, ZkError> {
        match self.item()? {
            Item::List(items) => Ok(Fields { items, next: 0, inside: Some(self.next - 1) }),
            Item::Bytes(_) => Err(self.wrong(FieldError::Bytes)),
        }
    }

    /// Read a number without leading zeros, of at most `most` bytes.
    pub(super) fn uint(&mut self, most: usize) -> Result<U256, ZkError> {
        let bytes = self.slice()?;
        if bytes.first() == Some(&0) {
            return Err(self.wrong(FieldError::LeadingZero));
        }
        if bytes.len() > most {
            return Err(self.wrong(FieldError::TooLong(most, bytes.len())));
        }
        Ok(U256::from_be_slice(bytes))
    }

    pub(super) fn address(&mut self) -> Result<Address, ZkError> {
        let bytes = self.slice()?;
        Address::try_from(bytes).map_err(|_| self.wrong(FieldError::AddressSize(bytes.len())))
    }

    pub(super) fn target(&mut self) -> Result<Address, ZkError> {
        match self.address() {
            Err(ZkError::Field { problem: FieldError::AddressSize(0), .. }) => {
                Err(self.wrong(FieldError::NoTarget))
            }
            read => read,
        }
    }

    pub(super) fn bytes(&mut self) -> Result<Bytes, ZkError> {
        self.slice().map(Bytes::copy_from_slice)
    }

    pub(super) fn dependencies(&mut self) -> Result<Vec<Bytes>, ZkError> {
        let mut codes = self.list()?;
        let mut found = Vec::new();
        while !codes.items.is_empty() {
            found.push(codes.bytes()?);
        }
        Ok(found)
    }

    pub(super) fn paymaster(&mut self) -> Result<Option<(Address, Bytes)>, ZkError> {
        let mut fields = self.list()?;
        match count(&fields.items)? {
            0 => Ok(None),
            2 => Ok(Some((fields.address()?, fields.bytes()?))),
            other => Err(self.wrong(FieldError::ItemCount(2, other))),
        }
    }

    /// Return the error of the field that was read last.
    fn wrong(&self, problem: FieldError) -> ZkError {
        let read = self.next - 1;
        let (field, item) = self.inside.map_or((read, None), |field| (field, Some(read)));
        ZkError::Field { field, item, problem }
    }
}

/// Return the number of items, without looking into them.
fn count(items: &Reader<'_>) -> Result<usize, RlpError> {
    let mut left = items.clone();
    let mut found = 0;
    while !left.is_empty() {
        left.next()?;
        found += 1;
    }
    Ok(found)
}
