//! What can be asked, and which rights in etcd each question takes. A question that says neither does not compile.

use std::fmt::Write as _;

use super::reads::{Reads, RelatedReads, Unaddressed};

/// A question, as far as rights go, with the words that name its objects.
#[derive(Clone, Copy, Debug)]
pub enum Question<'a> {
    /// The state of objects, or with no words the number of all.
    Objects(&'a [String]),
    /// The state of every object.
    EveryObject,
    /// A pod with its configuration.
    WithConfiguration(&'a [String]),
    /// Who last set the fields of an object.
    Blame(&'a [String]),
    /// The changes of objects.
    History(&'a [String]),
    /// What was ever in objects, all of them without words.
    Grep(&'a [String]),
    /// The story of objects.
    Timeline(&'a [String]),
    /// The Events about objects.
    Events(&'a [String]),
    /// Scheduling decisions about pods.
    Decisions(&'a [String]),
    /// What would become of pods.
    WhatIf,
    /// The story of objects with the scheduling decisions.
    Report(&'a [String]),
    /// What differs between two states of objects.
    Differences(&'a [String]),
    /// Objects to be restored.
    Extract(&'a [String]),
    /// What is broken.
    Triage,
    /// All that is stored, as it is: what fills etcd, what is encrypted, the data behind an API.
    Everything,
    /// All that is stored, through its history.
    Export,
    /// Objects with what their stories need, through their history.
    Bundle,
    /// What a source holds.
    Status,
}

/// What a role needs for some questions: a row of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Right {
    /// The commands that ask them.
    pub commands: &'static str,
    /// The keys that have to be readable.
    pub needs: &'static str,
    /// What else is read where it may be.
    pub also: &'static str,
}

const OBJECTS_RIGHT: Right = Right {
    commands: "`get`, `ls`, `diff --rev`, `watch`, `describe`, `tree`, `extract` of objects",
    needs: "their keys: `/registry/pods/` for `pods -A`, `/registry/pods/lab/` for `pods -n lab`, `/registry/pods/lab/web-0` for one",
    also: "the release (`/registry/apiregistration.k8s.io/`, `/registry/minions/`; else `--release`); definitions of custom kinds, without which only \
           Kubernetes' own kinds are known; for `describe` and `tree` owners, owned and Events; leases, for times",
};
const ONE_HISTORY: Right = Right {
    commands: "`history`, `blame`, `timeline` of one object",
    needs: "its key",
    also: "the same; for `timeline` its Events, owners, owned and volumes",
};
const HISTORIES_RIGHT: Right = Right {
    commands: "`history`, `timeline` of many objects, `grep` of kinds",
    needs: "their keys; before etcd 3.4.25 and 3.5.8 all keys (etcd issue 15220)",
    also: "the same",
};
const CONFIGURATION_RIGHT: Right =
    Right { commands: "`get --with-config`", needs: "the pod, and the `configmaps` and `secrets` of its namespace that it uses", also: "" };
const EVENTS_RIGHT: Right = Right { commands: "`events`", needs: "`/registry/events/`, of the namespace or the object's name", also: "" };
const DECISIONS_RIGHT: Right = Right {
    commands: "`explain`",
    needs: "what a scheduler watches, and Events; before etcd 3.4.25 and 3.5.8 all keys",
    also: "`/registry/leases/kube-system/kube-scheduler`, which shows when the scheduler was restarted",
};
const WHAT_IF: Right = Right {
    commands: "`what-if`",
    needs: "what a scheduler watches",
    also: "what controllers and admission look at (`/registry/deployments/`, `/registry/priorityclasses/` and others); missing permissions are listed",
};
const REPORT_RIGHT: Right = Right { commands: "`report` of objects", needs: "their keys, and what `explain` needs", also: "" };
const TRIAGE_RIGHT: Right = Right {
    commands: "`triage`",
    needs: "`/registry/pods/` and `/registry/minions/`",
    also: "other kinds that can fail, and recent changes; missing permissions are listed",
};
const EVERYTHING_RIGHT: Right = Right {
    commands: "`ls` alone, `grep`, `encryption`, `usage`, `export`, `bundle`, `serve`, `report`, `verify`, `rehearse`, `diff --rev` and `history --all`",
    needs: "all keys",
    also: "",
};
const RECORD_RIGHT: Right =
    Right { commands: "`record`", needs: "all keys; with `--keys` all from the first to the last of them", also: "" };
const STATUS_RIGHT: Right = Right { commands: "`status`", needs: "any key; all keys to count them all", also: "" };

const RIGHTS_TABLE: [&Right; 12] = [
    &OBJECTS_RIGHT,
    &ONE_HISTORY,
    &HISTORIES_RIGHT,
    &CONFIGURATION_RIGHT,
    &EVENTS_RIGHT,
    &DECISIONS_RIGHT,
    &WHAT_IF,
    &REPORT_RIGHT,
    &TRIAGE_RIGHT,
    &EVERYTHING_RIGHT,
    &RECORD_RIGHT,
    &STATUS_RIGHT,
];

impl<'a> Question<'a> {
    /// Returns what cannot be done without.
    pub fn reads(&self) -> Reads<'a> {
        let scheduling = Reads { beside: RelatedReads::Scheduling, past: true, once: true, ..Reads::of(&[]) };
        match *self {
            Self::Objects(words) | Self::Blame(words) => Reads::of(words),
            Self::EveryObject => Reads { unless: Unaddressed::Objects, ..Reads::of(&[]) },
            Self::WithConfiguration(words) => Reads { beside: RelatedReads::Configuration, ..Reads::of(words) },
            Self::History(words) => Reads { past: true, ..Reads::of(words) },
            Self::Grep(words) => Reads { unless: Unaddressed::NamespaceOrAll, takes_kinds: true, past: true, ..Reads::of(words) },
            Self::Timeline(words) => Reads { unless: Unaddressed::NamespaceOrObjects, past: true, once: true, ..Reads::of(words) },
            Self::Events(words) => Reads { unless: Unaddressed::Nothing, beside: RelatedReads::Events, ..Reads::of(words) },
            Self::Decisions(words) => Reads { words, unless: Unaddressed::Nothing, ..scheduling },
            Self::Report(words) => Reads { words, unless: Unaddressed::NamespaceOrAll, ..scheduling },
            Self::Differences(words) => Reads { unless: Unaddressed::NamespaceOrAll, ..Reads::of(words) },
            Self::Extract(words) => Reads { unless: Unaddressed::NamespaceOrObjects, ..Reads::of(words) },
            Self::WhatIf => Reads { past: false, ..scheduling },
            Self::Triage => Reads { unless: Unaddressed::Troubles, once: true, ..Reads::of(&[]) },
            Self::Everything | Self::Status => Reads::of(&[]),
            Self::Export | Self::Bundle => Reads { past: true, ..Reads::of(&[]) },
        }
    }

    /// Returns what a role needs to have it answered, in words.
    pub fn right(&self) -> &'static Right {
        match self {
            Self::Objects([]) | Self::Differences([]) | Self::Report([]) | Self::History([]) | Self::Grep([]) => &EVERYTHING_RIGHT,
            Self::Everything | Self::Export | Self::Bundle => &EVERYTHING_RIGHT,
            Self::Objects(_) | Self::EveryObject | Self::Differences(_) | Self::Extract(_) => &OBJECTS_RIGHT,
            Self::Blame(_) | Self::History([_]) | Self::Timeline([_]) => &ONE_HISTORY,
            Self::History(_) | Self::Timeline(_) | Self::Grep(_) => &HISTORIES_RIGHT,
            Self::WithConfiguration(_) => &CONFIGURATION_RIGHT,
            Self::Events(_) => &EVENTS_RIGHT,
            Self::Decisions(_) => &DECISIONS_RIGHT,
            Self::WhatIf => &WHAT_IF,
            Self::Report(_) => &REPORT_RIGHT,
            Self::Triage => &TRIAGE_RIGHT,
            Self::Status => &STATUS_RIGHT,
        }
    }
}

/// Returns the table of rights in Markdown.
pub fn table() -> String {
    let mut table = "| command | needs `read` on | if the role has it, also reads |\n|---|---|---|\n".to_owned();
    for Right { commands, needs, also } in RIGHTS_TABLE {
        let also = if also.is_empty() { String::new() } else { format!("{also} ") };
        let _ = writeln!(table, "| {commands} | {needs} | {also}|");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_has_a_row() {
        let one = ["pod/lab/web-0".to_owned()];
        let two = ["pods".to_owned(), "nodes".to_owned()];
        for words in [&[][..], &one, &two] {
            let questions = [
                Question::Objects(words),
                Question::EveryObject,
                Question::WithConfiguration(words),
                Question::Blame(words),
                Question::History(words),
                Question::Grep(words),
                Question::Timeline(words),
                Question::Events(words),
                Question::Decisions(words),
                Question::Report(words),
                Question::Differences(words),
                Question::Extract(words),
                Question::WhatIf,
                Question::Triage,
                Question::Everything,
                Question::Export,
                Question::Bundle,
                Question::Status,
            ];
            for question in questions {
                assert!(RIGHTS_TABLE.contains(&question.right()), "{question:?}");
                let addressed = question.reads().words;
                assert!(addressed.is_empty() || addressed == words, "{question:?}");
            }
        }
    }
}
