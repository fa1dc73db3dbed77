//! Trie nodes: encoding, decoding and lookup.
//!
//! alloy-trie's own nodes reject values in branches, which plain tries have, so only its
//! [`RlpNode`] (a reference to a node: its hash, or the node itself if that is shorter) is used.

use alloy_primitives::{B256, Bytes};
use alloy_rlp::{EMPTY_STRING_CODE, Header};
use alloy_trie::nodes::RlpNode;

use super::error::Malformed;
use super::path;

/// A node of the trie. Paths are one nibble a byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// The end of a path with its value.
    Leaf {
        /// The rest of the path.
        path: Vec<u8>,
        /// The value, never empty.
        value: Bytes,
    },
    /// A part of the path that all keys below share.
    Extension {
        /// The shared part, never empty.
        path: Vec<u8>,
        /// The branch at its end.
        child: RlpNode,
    },
    /// A branch; boxed since it is far larger than the others.
    Branch(Box<Branch>),
}

/// A branch: it has at least two of sixteen children and a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// The child for each next nibble; empty where there is none.
    pub children: [RlpNode; 16],
    /// The value of the key that ends here; empty if none does.
    pub value: Bytes,
}

/// The result of following a path through a node.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The path continues at the node of this hash, with so many nibbles left.
    Descend(B256, usize),
    /// The path ends at this value.
    Value(Bytes),
    /// No key has this path.
    Absent,
}

impl Node {
    /// Decode a node from exactly `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut rest = bytes;
        let items = Header::decode_bytes(&mut rest, true)?;
        if !rest.is_empty() {
            return Err(Malformed("bytes after the node"));
        }
        let mut after = items;
        let first = take_item(&mut after)?;
        let second = take_item(&mut after)?;
        if after.is_empty() {
            return decode_short(first, second);
        }
        decode_branch(items)
    }

    /// Append the RLP encoding to `out`.
    pub fn encode_to(&self, out: &mut Vec<u8>) {
        let payload_length = self.payload_len();
        let header = Header { list: true, payload_length };
        out.reserve(header.length() + payload_length);
        header.encode(out);
        match self {
            Self::Leaf { path, value } => {
                encode_path(path, true, out);
                encode_value(value, out);
            }
            Self::Extension { path, child } => {
                encode_path(path, false, out);
                out.extend_from_slice(child);
            }
            Self::Branch(branch) => {
                branch.children.iter().for_each(|child| encode_child(child, out));
                encode_value(&branch.value, out);
            }
        }
    }

    /// Return the RLP encoding.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_to(&mut out);
        out
    }

    /// Follow `path` through this node and the nodes embedded in it.
    pub fn follow(self, path: &[u8]) -> Result<Step, Malformed> {
        let (child, rest) = match self {
            Self::Leaf { path: own, value } if own == path => return Ok(Step::Value(value)),
            Self::Leaf { .. } => return Ok(Step::Absent),
            Self::Extension { path: own, child } => match path.strip_prefix(&own[..]) {
                Some(rest) => (child, rest),
                None => return Ok(Step::Absent),
            },
            Self::Branch(mut branch) => match path.split_first() {
                Some((&nibble, rest)) => {
                    (std::mem::take(&mut branch.children[nibble as usize]), rest)
                }
                None if branch.value.is_empty() => return Ok(Step::Absent),
                None => return Ok(Step::Value(branch.value)),
            },
        };
        if child.is_empty() {
            return Ok(Step::Absent);
        }
        match child.as_hash() {
            Some(hash) => Ok(Step::Descend(hash, rest.len())),
            None => Self::decode(&child)?.follow(rest),
        }
    }

    fn payload_len(&self) -> usize {
        match self {
            Self::Leaf { path, value } => path_len(path) + value_len(value),
            Self::Extension { path, child } => path_len(path) + child.len(),
            Self::Branch(branch) => {
                let children = branch.children.iter().map(|child| child.len().max(1));
                children.sum::<usize>() + value_len(&branch.value)
            }
        }
    }
}

/// An RLP item, with and without its header.
struct Item<'a> {
    raw: &'a [u8],
    payload: &'a [u8],
    is_list: bool,
}

impl Item<'_> {
    /// Return the value in this item.
    fn value(&self) -> Result<Bytes, Malformed> {
        if self.is_list {
            return Err(Malformed("a value that is a list"));
        }
        Ok(Bytes::copy_from_slice(self.payload))
    }

    /// Return the child that this item refers to, or an empty one.
    fn child(&self) -> Result<RlpNode, Malformed> {
        match (self.is_list, self.payload.len(), self.raw.len()) {
            (false, 0, _) => Ok(RlpNode::default()),
            (false, 32, _) | (true, _, ..32) => Ok(RlpNode::from_raw_rlp(self.raw)?),
            _ => Err(Malformed("a child that is neither a hash nor a short node")),
        }
    }
}

fn take_item<'a>(items: &mut &'a [u8]) -> Result<Item<'a>, Malformed> {
    let start = *items;
    let header = Header::decode(items)?;
    // `Header::decode` has checked that the payload is there.
    let (payload, rest) = items.split_at(header.payload_length);
    *items = rest;
    Ok(Item { raw: &start[..start.len() - rest.len()], payload, is_list: header.list })
}

fn decode_short(first: Item<'_>, second: Item<'_>) -> Result<Node, Malformed> {
    if first.is_list {
        return Err(Malformed("a path that is a list"));
    }
    let (path, is_leaf) = path::decode(first.payload)?;
    if is_leaf {
        let value = second.value()?;
        return match value.is_empty() {
            true => Err(Malformed("a leaf without a value")),
            false => Ok(Node::Leaf { path, value }),
        };
    }
    let child = second.child()?;
    if path.is_empty() || child.is_empty() {
        return Err(Malformed("an extension that leads nowhere"));
    }
    Ok(Node::Extension { path, child })
}

fn decode_branch(mut items: &[u8]) -> Result<Node, Malformed> {
    let mut branch = Box::<Branch>::default();
    for child in &mut branch.children {
        *child = take_item(&mut items)?.child()?;
    }
    branch.value = take_item(&mut items)?.value()?;
    if !items.is_empty() {
        return Err(Malformed("a node of neither 2 nor 17 items"));
    }
    let occupied = branch.children.iter().filter(|child| !child.is_empty()).count();
    if occupied + usize::from(!branch.value.is_empty()) < 2 {
        return Err(Malformed("a branch that does not fork"));
    }
    Ok(Node::Branch(branch))
}

fn encode_child(child: &RlpNode, out: &mut Vec<u8>) {
    match child.is_empty() {
        true => out.push(EMPTY_STRING_CODE),
        false => out.extend_from_slice(child),
    }
}

fn encode_value(value: &[u8], out: &mut Vec<u8>) {
    alloy_rlp::Encodable::encode(value, out);
}

fn value_len(value: &[u8]) -> usize {
    alloy_rlp::Encodable::length(value)
}

fn encode_path(path: &[u8], is_leaf: bool, out: &mut Vec<u8>) {
    let payload_length = path::encoded_len(path.len());
    // A single byte below 0x80, as every hex prefix is, is its own encoding.
    if payload_length > 1 {
        Header { list: false, payload_length }.encode(out);
    }
    path::encode(path, is_leaf, out);
}

fn path_len(path: &[u8]) -> usize {
    match path::encoded_len(path.len()) {
        1 => 1,
        payload_length => Header { list: false, payload_length }.length() + payload_length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(path: &[u8], value: &'static [u8]) -> Node {
        Node::Leaf { path: path.to_vec(), value: Bytes::from_static(value) }
    }

    fn embedded(node: &Node) -> RlpNode {
        RlpNode::from_rlp(&node.encode())
    }

    fn branch() -> Node {
        let mut branch = Box::<Branch>::default();
        branch.children[3] = embedded(&leaf(&[1], b"cat"));
        branch.children[15] = RlpNode::word_rlp(&B256::repeat_byte(7));
        branch.value = Bytes::from_static(b"dog");
        Node::Branch(branch)
    }

    #[test]
    fn a_node_survives_its_encoding() {
        let long: &'static [u8] = &[0x61; 300];
        let child = RlpNode::word_rlp(&B256::repeat_byte(1));
        let extension = Node::Extension { path: vec![1, 2, 3], child };
        for node in [leaf(&[], b"a"), leaf(&[1; 64], long), extension, branch()] {
            assert_eq!(Node::decode(&node.encode()), Ok(node));
        }
    }

    #[test]
    fn a_path_leads_through_embedded_nodes() {
        let hash = B256::repeat_byte(7);
        assert_eq!(branch().follow(&[3, 1]), Ok(Step::Value(Bytes::from_static(b"cat"))));
        assert_eq!(branch().follow(&[15, 1, 2]), Ok(Step::Descend(hash, 2)));
        assert_eq!(branch().follow(&[]), Ok(Step::Value(Bytes::from_static(b"dog"))));
        for path in [&[3][..], &[3, 2], &[4], &[3, 1, 0]] {
            assert_eq!(branch().follow(path), Ok(Step::Absent), "{path:?}");
        }
    }

    #[test]
    fn what_is_not_a_node_is_malformed() {
        let cut = branch().encode()[..40].to_vec();
        let with_tail = [&leaf(&[1], b"a").encode()[..], &[0]].concat();
        let valueless = vec![0xc2, 0x20, 0x80];
        let three_items = vec![0xc3, 0x20, 0x01, 0x01];
        let hollow = [&[0xd1][..], &[0x80; 17]].concat();
        let short_hash = vec![0xc4, 0x11, 0x82, 1, 2];
        let string = vec![0x83, 1, 2, 3];
        for bytes in [vec![], cut, with_tail, valueless, three_items, hollow, short_hash, string] {
            assert!(Node::decode(&bytes).is_err(), "{bytes:x?}");
        }
    }
}
