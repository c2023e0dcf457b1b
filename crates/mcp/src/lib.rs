#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod answers;
mod arguments;
mod completion;
mod json;
mod prompts;
mod resources;
mod server;
mod text;
mod told;
mod tools;

pub use answers::{Answer, Answers, Form, Question, Refusal};
pub use resources::{Page, object_of};
pub use server::{HttpService, MAX_REQUEST_BYTES, Server, http_service, serve_stdio};
pub use told::{MAX_JSON_BYTES, MAX_TEXT_BYTES};
pub use tools::read_call;
