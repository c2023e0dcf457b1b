//! What can be looked at in the page, and the command that shows the same as text: of the page's answers and of its links alike.

use jiff::Timestamp;

use ketcd_store::Revision;

use crate::command_line::{CommandLine, Invocation};

/// A moment as the page names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cursor {
    /// The one that was asked for, else the newest; of a stretch of time its end.
    #[default]
    Unset,
    /// A revision.
    At(i64),
    /// A time.
    Time(Timestamp),
}

impl From<Revision> for Cursor {
    fn from(Revision(revision): Revision) -> Self {
        // Printed objects have no revision.
        if revision > 0 { Self::At(revision) } else { Self::Unset }
    }
}

impl Cursor {
    /// This moment or, where none is set, another one.
    pub(super) fn or(self, other: Self) -> Self {
        if self == Self::Unset { other } else { self }
    }

    fn word(self) -> String {
        match self {
            Self::Unset => String::new(),
            Self::At(revision) => revision.to_string(),
            Self::Time(time) => time.to_string(),
        }
    }

    /// The flag for a state.
    fn state(self) -> Vec<String> {
        match self {
            Self::Unset => Vec::new(),
            Self::At(_) => vec!["--rev".to_owned(), self.word()],
            Self::Time(_) => vec!["--at".to_owned(), self.word()],
        }
    }

    /// A flag for an end of a stretch.
    fn end(self, flag: &str) -> Vec<String> {
        if self == Self::Unset { Vec::new() } else { vec![flag.to_owned(), self.word()] }
    }
}

/// What limits rows, as far as flags do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowWords {
    /// Kinds.
    pub kinds: Vec<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// A label selector.
    pub label: Option<String>,
    /// The node of pods.
    pub node: Option<String>,
}

/// What a panel shows of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Panel {
    /// Its phases and changes, up to a moment.
    Timeline(Cursor),
    /// It, with who set its lines.
    Yaml(Cursor),
    /// What differs between two of its versions.
    Diff(Cursor, Cursor),
    /// What each of its changes changed, up to a moment.
    Changes(Cursor),
    /// The Events about it.
    Events(Cursor),
    /// Its owners, and what it owns.
    Related(Cursor),
    /// Why it runs where it runs; with a node, what was compared there.
    Decision(Cursor, Option<String>),
    /// It, its conditions and what is requested of it.
    Node(Cursor),
}

/// A view of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// What is wrong at a moment.
    Findings(Cursor),
    /// What happened after a moment, up to another.
    Rows(Cursor, Cursor, RowWords),
    /// What differs between two moments, in a namespace if one is named.
    Changed(Cursor, Cursor, Option<String>),
    /// An object, by its address.
    Object(String, Panel),
}

impl View {
    /// The command.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Findings(_) => "triage",
            Self::Rows(..) => "timeline",
            Self::Changed(..) => "diff",
            Self::Object(_, panel) => match panel {
                Panel::Timeline(_) => "timeline",
                Panel::Yaml(_) => "blame",
                Panel::Diff(..) => "diff",
                Panel::Changes(_) => "history",
                Panel::Events(_) => "events",
                Panel::Related(_) => "tree",
                Panel::Decision(..) => "explain",
                Panel::Node(_) => "describe",
            },
        }
    }

    /// What follows the command.
    pub fn arguments(&self) -> Vec<String> {
        match self {
            Self::Findings(at) => at.state(),
            Self::Rows(from, to, only) => [rows(only), from.end("--since"), to.end("--until")].concat(),
            Self::Changed(from, to, namespace) => [span(*from, *to), in_namespace(namespace.as_deref())].concat(),
            Self::Object(address, panel) => [vec![address.clone()], panel.arguments()].concat(),
        }
    }

    /// The command line, on what a call of ketcd reads.
    pub fn command(&self, invocation: &Invocation) -> CommandLine {
        self.arguments().iter().fold(invocation.ketcd(self.name()), |line, word| line.word(word))
    }
}

impl Panel {
    fn arguments(&self) -> Vec<String> {
        match self {
            Self::Timeline(until) => until.end("--until"),
            Self::Changes(until) => [vec!["--diff".to_owned()], until.end("--until")].concat(),
            Self::Diff(from, to) => span(*from, *to),
            Self::Yaml(at) | Self::Events(at) | Self::Related(at) | Self::Node(at) => at.state(),
            Self::Decision(at, node) => [at.state(), node.iter().flat_map(|node| ["--node".to_owned(), node.clone()]).collect()].concat(),
        }
    }
}

fn rows(RowWords { kinds, namespace, label, node }: &RowWords) -> Vec<String> {
    let mut words = kinds.clone();
    match namespace {
        Some(_) => words.extend(in_namespace(namespace.as_deref())),
        None => words.push("-A".to_owned()),
    }
    words.extend(label.iter().flat_map(|label| ["-l".to_owned(), label.clone()]));
    words.extend(node.iter().flat_map(|node| ["--field-selector".to_owned(), format!("spec.nodeName={node}")]));
    words
}

fn in_namespace(namespace: Option<&str>) -> Vec<String> {
    namespace.into_iter().flat_map(|namespace| ["-n".to_owned(), namespace.to_owned()]).collect()
}

fn span(from: Cursor, to: Cursor) -> Vec<String> {
    vec!["--rev".to_owned(), format!("{}..{}", from.word(), to.word())]
}
