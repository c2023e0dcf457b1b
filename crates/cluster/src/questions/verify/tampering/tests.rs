//! The rules on made-up stores.
