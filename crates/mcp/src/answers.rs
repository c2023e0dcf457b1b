//! What a question is, and who answers it.

use std::future::Future;

/// The form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Text for people.
    #[default]
    Text,
    /// The JSON that the command line prints.
    Json,
    /// Objects as manifests.
    Yaml,
}

/// A question: a command with its words, and what the flags of every command would say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The command, its flags, and behind `--` what the client named.
    pub words: Vec<String>,
    /// The namespace; all of them without one.
    pub namespace: Option<String>,
    /// The moment to look at: a revision, a time or an age. What the server was started with, without one.
    pub at: Option<String>,
    /// The moments that are compared; the second is the newest without one.
    pub span: Option<(String, Option<String>)>,
    /// The form of the answer.
    pub form: Form,
    /// How many lines of the answer, or items of JSON, the client has already: an answer that is not whole reaches a page further.
    pub skip: usize,
}

/// An answer, before it is cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What the command printed.
    pub text: String,
    /// What it said about that.
    pub notes: Vec<String>,
    /// The moment that was looked at: the revision, and when that was.
    pub moment: String,
    /// Whether there was more than is kept.
    pub is_cut: bool,
    /// How many objects there are, where the text has only the first of them.
    pub objects: Option<u64>,
}

/// Why there is no answer, and what to ask instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

/// What answers questions. Each is answered by itself: nothing of one may matter to the next.
pub trait Answers: Clone + Send + Sync + 'static {
    /// Answers a question.
    ///
    /// # Errors
    /// What is wrong with the question, and what to ask instead.
    fn ask(&self, question: Question) -> impl Future<Output = Result<Answer, Refusal>> + Send;
}
