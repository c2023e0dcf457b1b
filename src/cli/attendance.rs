//! Who hears what a command has to say beside its answer.

use ketcd_cluster::Notices;
use ketcd_render::notice;

use super::output;

/// Whether somebody waits for what a command has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attendance {
    /// A user, who is asked for a password, told what happens beside the answer, and shown how far it came.
    User,
    /// Nobody, as while a shell completes a word: nothing is asked and nothing said.
    Nobody,
}

impl Attendance {
    /// Says something, if anybody listens.
    pub(super) fn note(self, line: &str) {
        if self == Self::User {
            output::note(line);
        }
    }

    /// Takes what happens beside the answers.
    pub(super) fn notices(self) -> Notices {
        match self {
            Self::User => Notices::new(|noticed| output::note(&notice::words(noticed))),
            Self::Nobody => Notices::default(),
        }
    }
}
