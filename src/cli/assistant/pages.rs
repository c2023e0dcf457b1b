//! The pages of the documentation that assistants can read: how sure an answer is, what is not in etcd, and how an incident is gone through.

use ketcd_mcp::Page;

macro_rules! page {
    ($name:literal, $title:literal, $path:literal) => {
        Page { name: $name, title: $title, text: include_str!(concat!("../../../docs/", $path)) }
    };
}

/// The pages.
pub(super) const PAGES: &[Page] = &[
    page!("how-sure", "How sure an answer is", "explanation/how-sure.md"),
    page!("what-etcd-never-holds", "What etcd never holds", "explanation/what-etcd-never-holds.md"),
    page!("times-and-authors", "How times and authors are found", "explanation/times-and-authors.md"),
    page!("why-pending", "Why is it pending?", "how-to/why-pending.md"),
    page!("node-died", "A node died at 3 a.m.", "how-to/node-died.md"),
    page!("who-deleted-it", "Who deleted it?", "how-to/who-deleted-it.md"),
];
