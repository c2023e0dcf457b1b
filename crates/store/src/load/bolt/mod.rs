//! bbolt's file format, read-only: two meta pages, and trees of pages in which buckets keep their pairs in key order.
//!
//! Nothing in the file is believed: every offset is checked against the file, every page is visited at most once, and what
//! does not hold together is reported as [`TreeDamage`] while the rest is read. Source of the format: bbolt v1.4.3, `internal/common`.

mod at_rest;
mod cursor;
mod database;
pub(super) mod freelist;
mod layout;
mod live;
mod meta;
mod page;
mod stale_pages;
mod step;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
mod walk;

pub(super) use at_rest::AtRest;
pub(super) use cursor::Order;
pub(super) use database::{Bolt, Bucket, BucketPair};
pub(super) use live::Live;
pub(super) use meta::{begins_with_meta_page, looks_like_bolt};
pub(super) use page::PageId;
pub(super) use stale_pages::Stale;
#[cfg(all(test, unix))]
pub(super) use step::beside;
pub(super) use step::step;
pub(super) use walk::{TreeDamage, Visited, Walk};
