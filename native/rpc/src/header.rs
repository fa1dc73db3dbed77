//! Headers and blocks as JSON: sealed, pending and simulated ones.

use alloy_consensus::Header;
use alloy_primitives::B256;
use alloy_rlp::{Encodable, Header as RlpHeader};

use super::hex::{put_data, put_number, put_quantity};
use super::logs::put_optional;

/// The size of an empty list in RLP: that of the ommers, and of the withdrawals.
const EMPTY_LIST_SIZE: usize = 1;

/// What a block has beside its header.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// The size of the block in RLP.
    pub size: usize,
    /// The transactions, or their hashes, as a JSON array.
    pub transactions: &'a [u8],
    /// The number and the time of its batch.
    pub batch: Option<(u64, u64)>,
}

/// Append a header as an object; that of the pending block has no hash.
pub fn put_header(out: &mut Vec<u8>, header: &Header, hash: Option<B256>) {
    out.push(b'{');
    put_members(out, header, hash);
    out.push(b'}');
}

/// Append a block as an object without its closing brace, because a simulated block has another member.
pub fn put_block(out: &mut Vec<u8>, header: &Header, hash: Option<B256>, body: &Body<'_>) {
    out.push(b'{');
    put_members(out, header, hash);
    number(out, ",\"totalDifficulty\":\"0x0\",\"size\":", body.size as u64);
    out.extend_from_slice(b",\"transactions\":");
    out.extend_from_slice(body.transactions);
    out.extend_from_slice(b",\"uncles\":[],\"sealFields\":[],\"l1BatchNumber\":");
    put_optional(out, body.batch.map(|(number, _)| number));
    out.extend_from_slice(b",\"l1BatchTimestamp\":");
    put_optional(out, body.batch.map(|(_, timestamp)| timestamp));
}

/// Return the size of a block in RLP, without encoding it: header, transactions, no ommers, no withdrawals.
pub fn size<'a>(header: &Header, transactions: impl IntoIterator<Item = &'a [u8]>) -> usize {
    let items = transactions.into_iter().map(|raw| match raw.first() {
        // A legacy transaction is a list already; what begins with 0xfe or 0xff is a type.
        Some(0xc0..0xfe) => raw.len(),
        _ => with_header(raw.len()),
    });
    let withdrawals = header.withdrawals_root.map_or(0, |_| EMPTY_LIST_SIZE);
    with_header(header.length() + with_header(items.sum()) + EMPTY_LIST_SIZE + withdrawals)
}

fn with_header(payload_length: usize) -> usize {
    RlpHeader { list: true, payload_length }.length_with_payload()
}

fn put_members(out: &mut Vec<u8>, header: &Header, hash: Option<B256>) {
    number(out, "\"number\":", header.number);
    optional_hash(out, ",\"hash\":", hash);
    data(out, ",\"parentHash\":", header.parent_hash.as_slice());
    data(out, ",\"nonce\":", header.nonce.as_slice());
    data(out, ",\"sha3Uncles\":", header.ommers_hash.as_slice());
    data(out, ",\"logsBloom\":", header.logs_bloom.as_slice());
    data(out, ",\"transactionsRoot\":", header.transactions_root.as_slice());
    data(out, ",\"stateRoot\":", header.state_root.as_slice());
    data(out, ",\"receiptsRoot\":", header.receipts_root.as_slice());
    data(out, ",\"miner\":", header.beneficiary.as_slice());
    out.extend_from_slice(b",\"difficulty\":");
    put_quantity(out, header.difficulty);
    data(out, ",\"extraData\":", &header.extra_data);
    number(out, ",\"gasLimit\":", header.gas_limit);
    number(out, ",\"gasUsed\":", header.gas_used);
    number(out, ",\"timestamp\":", header.timestamp);
    data(out, ",\"mixHash\":", header.mix_hash.as_slice());
    number(out, ",\"baseFeePerGas\":", header.base_fee_per_gas.unwrap_or_default());
    if let Some(root) = header.withdrawals_root {
        data(out, ",\"withdrawals\":[],\"withdrawalsRoot\":", root.as_slice());
    }
    if let Some(blob_gas) = header.blob_gas_used {
        number(out, ",\"blobGasUsed\":", blob_gas);
        out.extend_from_slice(b",\"excessBlobGas\":");
        put_optional(out, header.excess_blob_gas);
        optional_hash(out, ",\"parentBeaconBlockRoot\":", header.parent_beacon_block_root);
    }
    if let Some(hash) = header.requests_hash {
        data(out, ",\"requestsHash\":", hash.as_slice());
    }
}

fn data(out: &mut Vec<u8>, member: &str, value: &[u8]) {
    out.extend_from_slice(member.as_bytes());
    put_data(out, value);
}

fn number(out: &mut Vec<u8>, member: &str, value: u64) {
    out.extend_from_slice(member.as_bytes());
    put_number(out, value);
}

fn optional_hash(out: &mut Vec<u8>, member: &str, value: Option<B256>) {
    match value {
        Some(hash) => data(out, member, hash.as_slice()),
        None => {
            out.extend_from_slice(member.as_bytes());
            out.extend_from_slice(b"null");
        }
    }
}

#[cfg(test)]
mod tests {
    use entresol_core::record::decode_header;

    use super::*;

    fn london() -> Header {
        Header { number: 7, base_fee_per_gas: Some(9), ..Header::default() }
    }

    fn text(header: &Header, hash: Option<B256>) -> String {
        let mut out = Vec::new();
        put_header(&mut out, header, hash);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_pending_header_has_no_hash() {
        assert!(text(&london(), None).starts_with(r#"{"number":"0x7","hash":null,"#));
        let hashed = text(&london(), Some(B256::repeat_byte(1)));
        assert!(hashed.contains(&format!(r#""hash":"0x{}""#, "01".repeat(32))));
    }

    #[test]
    fn a_header_has_the_members_of_its_fork() {
        let mut header = london();
        assert!(text(&header, None).ends_with(r#""baseFeePerGas":"0x9"}"#));
        header.withdrawals_root = Some(B256::ZERO);
        let zeros = "00".repeat(32);
        assert!(text(&header, None).ends_with(&format!(r#""withdrawalsRoot":"0x{zeros}"}}"#)));
        header.blob_gas_used = Some(1);
        header.excess_blob_gas = Some(2);
        header.parent_beacon_block_root = Some(B256::ZERO);
        header.requests_hash = Some(B256::ZERO);
        let cancun = format!(
            r#""blobGasUsed":"0x1","excessBlobGas":"0x2","parentBeaconBlockRoot":"0x{zeros}","requestsHash":"0x{zeros}"}}"#
        );
        assert!(text(&header, None).ends_with(&cancun));
    }

    #[test]
    fn what_is_not_a_header_of_london_is_not_decoded() {
        let encoded = alloy_rlp::encode(london());
        assert_eq!(decode_header(&encoded), Some(london()));
        assert_eq!(decode_header(&[&encoded[..], b"\0"].concat()), None);
        assert_eq!(decode_header(&encoded[..encoded.len() - 1]), None);
        assert_eq!(decode_header(&alloy_rlp::encode(Header::default())), None);
    }

    #[test]
    fn the_size_is_that_of_the_encoded_block() {
        let mut header = london();
        let legacy = alloy_rlp::encode(vec![1u64, 2, 3]);
        let typed = [2u8; 60];
        let items = legacy.len() + alloy_rlp::encode(&typed[..]).len();
        let bare = with_header(header.length() + with_header(items) + 1);
        assert_eq!(size(&header, [&legacy[..], &typed]), bare);
        header.withdrawals_root = Some(B256::ZERO);
        assert_eq!(size(&header, [&legacy[..], &typed]), bare + 33 + 1);
    }
}
