//! What answers requests: objects, lists and watches of resources, reviews, and the documents that say what there is.

mod call;
mod discovery;
mod documents;
mod form;
mod get;
mod list;
mod objects;
mod openapi;
pub(crate) mod page;
mod read;
mod refusals;
mod reviews;
mod scale;
mod table;
mod version;
mod watch;

pub(crate) use documents::{document, resources};
pub(crate) use openapi::openapi;
pub(crate) use read::read;
pub(crate) use refusals::{read_only, refusal};
pub(crate) use reviews::Review;
