//! The actions of a what-if: flags that may be repeated and whose order counts.

use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};

use ketcd_cluster::files::manifests;
use ketcd_what_if::{FitOf, NodeChoice, WhatIfAction};

use crate::cli::outcome::{Error, Result};

/// A flag, the name of its value, what kind of value that is, and what it does.
type Flag = (&'static str, &'static str, ValueHint, &'static str);

/// The actions' flags.
const ACTION_FLAGS: [Flag; 11] = [
    ("drain", "NODE", ValueHint::Other, "Cordon this node, or several (a,b), and evict the pods, as kubectl drain does."),
    ("fail", "NODE|LABEL=VALUE", ValueHint::Other, "Let this node, or all nodes with this label, stop answering."),
    ("cordon", "NODE", ValueHint::Other, "Cordon this node, or several (a,b)."),
    ("uncordon", "NODE", ValueHint::Other, "Take the cordon off this node, or several (a,b)."),
    ("taint", "NODE=KEY[=VALUE]:EFFECT", ValueHint::Other, "Taint this node; NODE=KEY[:EFFECT]- takes the taint off."),
    ("label", "NODE:KEY=VALUE", ValueHint::Other, "Set this label of a node; NODE:KEY- removes it."),
    ("add", "N*NODE|FILE", ValueHint::FilePath, "Add this many nodes like this one (or NODE=N), or those of a file."),
    ("delete", "ADDRESS", ValueHint::Other, "Delete this object, and what it owns."),
    ("scale", "ADDRESS=N", ValueHint::Other, "Scale this workload to this many replicas."),
    ("restart", "ADDRESS", ValueHint::Other, "Restart this workload, by its strategy."),
    ("apply", "FILE", ValueHint::FilePath, "Apply the manifests of this file, as the API server would admit them."),
];

/// Those that the short help shows.
const USUAL_ACTIONS: [&str; 4] = ["drain", "fail", "add", "scale"];

/// Questions, which are flags too.
const QUESTION_FLAGS: [&str; 5] = ["fit", "seeds", "each", "spare", "decisions"];

/// Words without dashes: `drain w03` is `--drain w03`.
const WORDS_ARG: &str = "words";

/// The actions, in the order in which they were given.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct ActionArgs {
    actions: Vec<(&'static str, String)>,
    /// What is wrong with the words, and what to write.
    wrong: Option<(String, String)>,
}

impl Args for ActionArgs {
    fn augment_args(command: Command) -> Command {
        let arg = |(name, value, hint, help): Flag| {
            let arg = Arg::new(name).long(name).value_name(value).value_hint(hint).help(help).action(ArgAction::Append);
            arg.help_heading("Actions").hide_short_help(!USUAL_ACTIONS.contains(&name))
        };
        command.args(ACTION_FLAGS.map(arg)).arg(Arg::new(WORDS_ARG).num_args(0..).hide(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ActionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let mut found = Vec::new();
        for (name, ..) in ACTION_FLAGS {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let indices = matches.indices_of(name).into_iter().flatten();
            found.extend(indices.zip(values).map(|(index, value)| (index, name, value.clone())));
        }
        let indices = matches.indices_of(WORDS_ARG).into_iter().flatten();
        let words = matches.get_many::<String>(WORDS_ARG).into_iter().flatten().map(String::as_str);
        let wrong = match spoken(indices.zip(words)) {
            Ok(actions) => {
                found.extend(actions);
                None
            }
            Err(wrong) => Some(wrong),
        };
        found.sort_by_key(|(index, ..)| *index);
        Ok(Self { actions: found.into_iter().map(|(_, name, value)| (name, value)).collect(), wrong })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ActionArgs {
    /// Whether there is none.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.wrong.is_none()
    }

    pub(in crate::cli) fn words(&self) -> Vec<String> {
        self.actions.iter().map(|(flag, value)| format!("--{flag} {value}")).collect()
    }

    /// The actions.
    ///
    /// # Errors
    /// One is not of its form, or a file cannot be read.
    pub(in crate::cli) fn read(&self) -> Result<Vec<WhatIfAction>> {
        if let Some((what, hint)) = &self.wrong {
            return Err(Error::new(what.clone()).hint(hint.clone()));
        }
        let mut read = Vec::new();
        for (flag, value) in &self.actions {
            for value in values(flag, value)? {
                read.push(action(flag, value)?);
            }
        }
        Ok(read)
    }
}

/// The values of a flag: nodes may be a list, and each may be written as an address.
///
/// # Errors
/// A member of the list is empty.
fn values<'v>(flag: &str, value: &'v str) -> Result<Vec<&'v str>> {
    if !["drain", "fail", "cordon", "uncordon"].contains(&flag) {
        return Ok(vec![value]);
    }
    let plain = |node: &'v str| {
        let known = ["node/", "nodes/", "no/"].iter().find_map(|kind| node.strip_prefix(kind));
        known.filter(|name| !name.contains('=')).unwrap_or(node)
    };
    let nodes: Vec<&str> = value.split(',').map(|node| plain(node.trim())).collect();
    match nodes.iter().any(|node| node.is_empty()) {
        true => Err(Error::new(format!("invalid --{flag} {value:?}: expected NODE or NODE,NODE"))),
        false => Ok(nodes),
    }
}

/// The actions that words name, each with its place: an action, then what it is done to.
///
/// # Errors
/// What is wrong, and what to write.
fn spoken<'w>(words: impl Iterator<Item = (usize, &'w str)>) -> std::result::Result<Vec<(usize, &'static str, String)>, (String, String)> {
    let needs = |(name, value, ..): &Flag| (format!("what-if {name}: expected {value}"), format!("write --{name} {value}"));
    let (mut found, mut action): (Vec<_>, Option<(&Flag, bool)>) = (Vec::new(), None);
    for (index, word) in words {
        let named = ACTION_FLAGS.iter().find(|(name, ..)| *name == word);
        match (named, &mut action) {
            (Some(_), Some((flag, false))) => return Err(needs(flag)),
            (Some(flag), _) => action = Some((flag, false)),
            (None, Some((flag, has_value))) => {
                *has_value = true;
                found.push((index, flag.0, word.to_owned()));
            }
            (None, None) if QUESTION_FLAGS.contains(&word) => {
                return Err((format!("what-if {word}: a question is a flag"), format!("write --{word}")));
            }
            (None, None) => {
                return Err((format!("{word:?} is not an action of what-if"), "name an action, such as --drain NODE".to_owned()));
            }
        }
    }
    match action {
        Some((flag, false)) => Err(needs(flag)),
        _ => Ok(found),
    }
}

fn action(flag: &str, value: &str) -> Result<WhatIfAction> {
    let text = value.to_owned();
    Ok(match flag {
        "drain" => WhatIfAction::Drain(text),
        "fail" => WhatIfAction::Fail(NodeChoice::parse(value)),
        "cordon" => WhatIfAction::Cordon(text),
        "uncordon" => WhatIfAction::Uncordon(text),
        "taint" => WhatIfAction::taint(value)?,
        "label" => WhatIfAction::label(value)?,
        "delete" => WhatIfAction::Delete(text),
        "scale" => WhatIfAction::scale(value)?,
        "restart" => WhatIfAction::Restart(text),
        "apply" => WhatIfAction::Apply(manifests(value)?),
        _ => match WhatIfAction::add_like(value) {
            Some(action) => action,
            None => WhatIfAction::AddNodes(manifests(value)?),
        },
    })
}

/// The object of which `--fit` asks how many more fit: a file that is there, or else an address.
///
/// # Errors
/// The file cannot be read, or does not hold one object.
pub(in crate::cli) fn fit_of(value: &str) -> Result<FitOf> {
    if !Path::new(value).is_file() {
        return Ok(FitOf::Address(value.to_owned()));
    }
    match <[_; 1]>::try_from(manifests(value)?) {
        Ok([object]) => Ok(FitOf::Object(object)),
        Err(objects) => Err(Error::new(format!("--fit {value} holds {} objects: expected one", objects.len()))),
    }
}
