//! Completion of arguments: pods for prompts, namespaces for addresses of objects. Only plain names are offered.

use rmcp::model::{ArgumentInfo, CompletionInfo, Reference};

use crate::answers::{Answers, Question};
use crate::prompts;

/// What is listed for an argument, and how a row of that becomes a value.
fn listing(of: &Reference, argument: &str) -> Option<(&'static str, fn(&str) -> Option<String>)> {
    fn pod(row: &str) -> Option<String> {
        let mut columns = row.split_whitespace();
        Some(format!("pod/{}/{}", columns.next()?, columns.next()?))
    }
    fn name(row: &str) -> Option<String> {
        row.split_whitespace().next().map(str::to_owned)
    }
    match of {
        Reference::Prompt(prompt) if prompts::is_pod(&prompt.name, argument) => Some(("pods", pod)),
        Reference::Resource(_) if argument == "namespace" => Some(("namespaces", name)),
        _ => None,
    }
}

/// Completes an argument; nothing is offered where nothing is known.
pub(crate) async fn complete(answers: &impl Answers, of: &Reference, argument: &ArgumentInfo) -> CompletionInfo {
    let Some((kind, value)) = listing(of, &argument.name) else { return CompletionInfo::default() };
    let question = Question { words: vec!["get".to_owned(), "--".to_owned(), kind.to_owned()], ..Question::default() };
    let Ok(answer) = answers.ask(question).await else { return CompletionInfo::default() };
    // The first row is the heading.
    let found = answer.text.lines().skip(1).filter_map(value);
    let mut values: Vec<String> = found.filter(|value| is_plain(value) && value.contains(&argument.value)).collect();
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let has_more = values.len() < total;
    CompletionInfo::with_pagination(values, u32::try_from(total).ok(), has_more).unwrap_or_default()
}

/// Whether a text is letters, digits and what names have between them.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:@/-".contains(&byte))
}
