//! Transactions of type 0x71, decoded in one step: the fields, both hashes, and the key that has signed.
//!
//! What is unusual has no result here: Python decodes it field by field, and reports what is wrong.

use alloy_primitives::{Address, B256, Bytes, U256};

use crate::crypto;
use crate::rlp::{Item, Reader};
use crate::typed_data::{self, Transaction};

/// The size of a signature of a key.
const SIGNATURE: usize = 65;
const MAX_NONCE: u64 = u32::MAX as u64;
/// Where the sender and the paymaster are among the fields.
const SENDER: usize = 11;
const PAYMASTER: usize = 15;

/// A well-formed transaction without factory dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZkTransaction {
    /// The nonce.
    pub nonce: u64,
    /// The priority fee, which is never charged.
    pub max_priority_fee_per_gas: u128,
    /// The fee cap.
    pub max_fee_per_gas: u128,
    /// The gas limit.
    pub gas_limit: u64,
    /// The target.
    pub to: Address,
    /// The value.
    pub value: U256,
    /// The calldata.
    pub data: Bytes,
    /// `v`, `r` and `s` as written, unless there is only a custom signature.
    pub plain_signature: Option<(u8, U256, U256)>,
    /// The chain id.
    pub chain_id: u64,
    /// The sender.
    pub sender: Address,
    /// The most gas for a byte of pubdata.
    pub gas_per_pubdata_limit: u64,
    /// The custom signature, or nothing.
    pub custom_signature: Bytes,
    /// Who pays, and what they are told.
    pub paymaster: Option<(Address, Bytes)>,
    /// The digest that is signed.
    pub digest: B256,
    /// The hash.
    pub hash: B256,
    /// The key that has signed it, if it is signed like a key does, and that was asked.
    pub signer: Option<Address>,
}

/// Decode a transaction, unless it is malformed or has factory dependencies.
///
/// The key that has signed is recovered only if `recovers`: it takes longer than the rest.
pub fn decode(raw: &[u8], recovers: bool) -> Option<ZkTransaction> {
    let mut fields = Fields(items(raw)?);
    let nonce = fields.uint(8)?.to::<u64>();
    let max_priority_fee_per_gas = fields.uint(16)?.to();
    let max_fee_per_gas = fields.uint(16)?.to();
    let gas_limit = fields.uint(8)?.to();
    let to = fields.address()?;
    let value = fields.uint(32)?;
    let data = fields.bytes()?;
    let (v, r, s) = (fields.uint(8)?.to::<u64>(), fields.uint(32)?, fields.uint(32)?);
    let chain_id = fields.uint(8)?.to();
    let sender = fields.address()?;
    let gas_per_pubdata_limit = fields.uint(8)?.to();
    let has_dependencies = !fields.list()?.is_empty();
    let custom_signature = fields.bytes()?;
    let paymaster = fields.paymaster()?;
    if !fields.0.is_empty() || has_dependencies || nonce > MAX_NONCE {
        return None;
    }
    let plain_signature = match (v, r.is_zero() && s.is_zero()) {
        (v, true) if v == chain_id => None,
        (0 | 1 | 27 | 28, _) => Some((v as u8, r, s)),
        _ => return None,
    };
    let mut decoded = ZkTransaction {
        nonce,
        max_priority_fee_per_gas,
        max_fee_per_gas,
        gas_limit,
        to,
        value,
        data,
        plain_signature,
        chain_id,
        sender,
        gas_per_pubdata_limit,
        custom_signature,
        paymaster,
        digest: B256::ZERO,
        hash: B256::ZERO,
        signer: None,
    };
    decoded.judge(recovers);
    Some(decoded)
}

/// Return the sender, and the paymaster with its input, without reading what is irrelevant to them.
///
/// The zero address is no paymaster, as in [`crate::evm::account::ZkTx::has_paymaster`].
pub fn parties(raw: &[u8]) -> Option<(Address, Option<(Address, Bytes)>)> {
    let mut fields = Fields(items(raw)?);
    fields.skip(SENDER)?;
    let sender = fields.address()?;
    fields.skip(PAYMASTER - SENDER - 1)?;
    let paymaster = fields.paymaster()?;
    let paymaster = paymaster.filter(|(address, _)| !address.is_zero());
    fields.0.is_empty().then_some((sender, paymaster))
}

/// Return the fields of a transaction.
fn items(raw: &[u8]) -> Option<Reader<'_>> {
    let (&Transaction::TYPE, body) = raw.split_first()? else { return None };
    let mut outer = Reader::new(body);
    let Item::List(items) = outer.next().ok()? else { return None };
    outer.finish().ok()?;
    Some(items)
}

impl ZkTransaction {
    /// Compute both hashes, and recover who has signed.
    fn judge(&mut self, recovers: bool) {
        let signature = self.signature();
        self.digest = self.signed_fields().signing_hash(U256::from(self.chain_id));
        self.hash = typed_data::transaction_hash(self.digest, &signature);
        let is_of_key = signature.len() == SIGNATURE && matches!(signature[64], 27 | 28);
        if recovers && is_of_key {
            self.signer = crypto::recover(&self.digest, &signature).ok();
        }
    }

    /// Return the signature that counts.
    fn signature(&self) -> Bytes {
        match self.plain_signature {
            Some((v, r, s)) if self.custom_signature.is_empty() => {
                let mut signature = [r.to_be_bytes::<32>(), s.to_be_bytes::<32>()].concat();
                signature.push(27 + v % 27);
                signature.into()
            }
            _ => self.custom_signature.clone(),
        }
    }

    fn signed_fields(&self) -> Transaction {
        let (paymaster, input) = self.paymaster.clone().unwrap_or_default();
        Transaction {
            txType: U256::from(Transaction::TYPE),
            from: self.sender.into_word().into(),
            to: self.to.into_word().into(),
            gasLimit: U256::from(self.gas_limit),
            gasPerPubdataByteLimit: U256::from(self.gas_per_pubdata_limit),
            maxFeePerGas: U256::from(self.max_fee_per_gas),
            maxPriorityFeePerGas: U256::from(self.max_priority_fee_per_gas),
            paymaster: paymaster.into_word().into(),
            nonce: U256::from(self.nonce),
            value: self.value,
            data: self.data.clone(),
            factoryDeps: Vec::new(),
            paymasterInput: input,
        }
    }
}

/// The fields of a transaction, in order; a field of another form is none.
struct Fields<'a>(Reader<'a>);

impl<'a> Fields<'a> {
    fn skip(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.0.next().map(drop)).ok()
    }

    fn item(&mut self) -> Option<&'a [u8]> {
        match self.0.next().ok()? {
            Item::Bytes(bytes) => Some(bytes),
            Item::List(_) => None,
        }
    }

    fn list(&mut self) -> Option<Reader<'a>> {
        match self.0.next().ok()? {
            Item::List(items) => Some(items),
            Item::Bytes(_) => None,
        }
    }

    /// Read a number without leading zeros, of at most `size` bytes.
    fn uint(&mut self, size: usize) -> Option<U256> {
        let bytes = self.item()?;
        let is_minimal = bytes.first() != Some(&0);
        (is_minimal && bytes.len() <= size).then(|| U256::from_be_slice(bytes))
    }

    fn address(&mut self) -> Option<Address> {
        Address::try_from(self.item()?).ok()
    }

    fn bytes(&mut self) -> Option<Bytes> {
        self.item().map(Bytes::copy_from_slice)
    }

    fn paymaster(&mut self) -> Option<Option<(Address, Bytes)>> {
        let items = self.list()?;
        if items.is_empty() {
            return Some(None);
        }
        let mut fields = Fields(items);
        let named = (fields.address()?, fields.bytes()?);
        fields.0.is_empty().then_some(Some(named))
    }
}
