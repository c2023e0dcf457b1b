//! Answers that stay true: a file is read as it was when it was opened, so a question has one answer. The pages of a cut answer are cut from it, and what is
//! asked again is not read again. Of clients nothing is kept but their questions; the oldest make room.

use std::collections::VecDeque;

use ketcd_mcp::{Answer, Form, Question};

/// The bytes of all answers together.
const MAX_BYTES: usize = 64 << 20;
/// How many are kept.
const MAX_ANSWERS: usize = 64;

/// The commands whose answers say how old something is by the machine's clock.
const TIMED: [&str; 1] = ["verify"];

/// How many objects a question about objects reads, where it is about many: those that the client has, and a page more at least. Numbers that are near to
/// each other are one, so that pages are cut from one answer.
pub(super) fn limit(question: &Question, page: usize) -> Option<usize> {
    let is_listing = question.words.first().is_some_and(|word| word == "get") && question.form != Form::Yaml;
    is_listing.then(|| (question.skip / page).saturating_add(2).saturating_mul(page))
}

/// The answers, the newest last.
pub(super) struct KeptAnswers {
    answers: VecDeque<KeptAnswer>,
    bytes: usize,
    /// Whether the source has one answer to a question: a live etcd goes on.
    stays: bool,
}

struct KeptAnswer {
    question: Question,
    answer: Answer,
    /// A client that has more lines or items than these needs an answer that reaches further.
    reach: usize,
}

impl KeptAnswers {
    /// Keeps the answers of a source that stays as it is; of another one nothing.
    pub(super) fn new(stays: bool) -> Self {
        Self { answers: VecDeque::new(), bytes: 0, stays }
    }

    /// The answer to a question, if it is here and reaches far enough.
    pub(super) fn find(&self, question: &Question) -> Option<Answer> {
        let found = self.answers.iter().find(|kept| is_same(&kept.question, question) && question.skip <= kept.reach)?;
        Some(found.answer.clone())
    }

    /// Keeps an answer, in the place of one to the same question.
    pub(super) fn keep(&mut self, question: &Question, answer: &Answer, reach: usize) {
        if !self.stays || question.words.first().is_some_and(|word| TIMED.contains(&word.as_str())) {
            return;
        }
        if let Some(older) = self.answers.iter().position(|kept| is_same(&kept.question, question)) {
            self.bytes -= self.answers.remove(older).map_or(0, |kept| bytes(&kept.answer));
        }
        self.bytes += bytes(answer);
        self.answers.push_back(KeptAnswer { question: question.clone(), answer: answer.clone(), reach });
        while self.bytes > MAX_BYTES || self.answers.len() > MAX_ANSWERS {
            let Some(oldest) = self.answers.pop_front() else { break };
            self.bytes -= bytes(&oldest.answer);
        }
    }
}

#[cfg(test)]
impl KeptAnswers {
    pub(super) fn len(&self) -> usize {
        self.answers.len()
    }
}

/// Whether two questions have one answer: how much of it a client has already does not count.
pub(super) fn is_same(one: &Question, other: &Question) -> bool {
    one.words == other.words && (&one.namespace, &one.at, &one.span, one.form) == (&other.namespace, &other.at, &other.span, other.form)
}

fn bytes(answer: &Answer) -> usize {
    answer.text.len() + answer.notes.iter().map(String::len).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(command: &str, skip: usize) -> Question {
        Question { words: vec![command.to_owned()], skip, ..Question::default() }
    }

    fn answer(text: &str) -> Answer {
        Answer { text: text.to_owned(), ..Answer::default() }
    }

    #[test]
    fn pages_are_cut_from_one_answer_as_far_as_it_reaches() {
        let mut kept = KeptAnswers::new(true);
        kept.keep(&asked("history", 0), &answer("first"), 500);
        assert_eq!(kept.find(&asked("history", 500)).unwrap().text, "first");
        assert!(kept.find(&asked("history", 501)).is_none() && kept.find(&asked("grep", 0)).is_none());
        kept.keep(&asked("history", 501), &answer("further"), usize::MAX);
        assert_eq!((kept.find(&asked("history", 0)).unwrap().text.as_str(), kept.answers.len()), ("further", 1));
    }

    #[test]
    fn what_may_change_is_not_kept() {
        let mut live = KeptAnswers::new(false);
        live.keep(&asked("triage", 0), &answer("now"), usize::MAX);
        let mut file = KeptAnswers::new(true);
        file.keep(&asked("verify", 0), &answer("9 days old"), usize::MAX);
        assert!(live.find(&asked("triage", 0)).is_none() && file.find(&asked("verify", 0)).is_none());
    }

    #[test]
    fn the_oldest_make_room() {
        let mut kept = KeptAnswers::new(true);
        let large = answer(&"x".repeat(MAX_BYTES / 3));
        ["a", "b", "c", "d"].iter().for_each(|command| kept.keep(&asked(command, 0), &large, usize::MAX));
        assert!(kept.find(&asked("a", 0)).is_none() && kept.find(&asked("b", 0)).is_some());
        assert!(kept.bytes <= MAX_BYTES);
        kept.keep(&asked("e", 0), &answer(&"x".repeat(MAX_BYTES + 1)), usize::MAX);
        assert!(kept.answers.is_empty() && kept.bytes == 0);
    }

    #[test]
    fn a_list_is_read_as_far_as_it_is_shown() {
        assert_eq!(limit(&asked("get", 0), 2_000), Some(4_000));
        assert_eq!(limit(&asked("get", 3_999), 2_000), Some(6_000));
        assert_eq!(limit(&asked("history", 0), 2_000), None);
        assert_eq!(limit(&Question { form: Form::Yaml, ..asked("get", 0) }, 2_000), None);
    }
}
