//! Blocks as clients name them.

use super::hex::quantity;

/// A block that a client names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// The last one.
    Latest,
    /// By number.
    Number(u64),
}

/// Parse a block: `latest`, a number, or None for the latest.
pub fn parse_block(text: Option<&str>) -> Option<Block> {
    match text {
        None | Some("latest") => Some(Block::Latest),
        Some(number) => quantity(number, 16).map(|number| Block::Number(number.to())),
    }
}
