//! Who receives notices: a user, or nobody (shell completion).

use ketcd_cluster::{Notice, Notices};
use ketcd_render::notice;

use super::messages;

/// Whether somebody waits for what a command has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Attendance {
    /// A user, who is asked for a password, told what happens beside the answer, and shown how far it came.
    User,
    /// A user who reads the problems of the source in the answer, on the terminal where they would be said: they are not said twice.
    Reader,
    /// Nobody, as while a shell completes a word: nothing is asked and nothing said.
    Nobody,
}

impl Attendance {
    /// Says something, if anybody listens.
    pub(in crate::cli) fn note(self, line: &str) {
        if self != Self::Nobody {
            messages::note(line);
        }
    }

    /// Says what is wrong with the source, if the answer does not.
    pub(in crate::cli) fn note_problem(self, line: &str) {
        if self == Self::User {
            messages::note(line);
        }
    }

    /// Takes what happens beside the answers.
    pub(in crate::cli) fn notices(self) -> Notices {
        match self {
            Self::User => Notices::new(|noticed| messages::note(&notice::words(noticed))),
            Self::Reader => Notices::new(|noticed| {
                if !matches!(noticed, Notice::Damage(_)) {
                    messages::note(&notice::words(noticed));
                }
            }),
            Self::Nobody => Notices::default(),
        }
    }
}
