//! The actions of a what-if: flags that may be repeated and whose order counts.

use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};

use ketcd_cluster::files::manifests;
use ketcd_cluster::simulate::{FitOf, NodeChoice, WhatIfAction};

use super::{Error, Result};

/// A flag, the name of its value, what kind of value that is, and what it does.
type Flag = (&'static str, &'static str, ValueHint, &'static str);

/// The actions' flags.
const FLAGS: [Flag; 11] = [
    ("drain", "NODE", ValueHint::Other, "Cordon this node and evict its pods, as kubectl drain does."),
    ("fail", "NODE|LABEL=VALUE", ValueHint::Other, "Let this node, or all nodes with this label, stop answering."),
    ("cordon", "NODE", ValueHint::Other, "Cordon this node."),
    ("uncordon", "NODE", ValueHint::Other, "Take this node's cordon off."),
    ("taint", "NODE=KEY[=VALUE]:EFFECT", ValueHint::Other, "Taint this node; NODE=KEY[:EFFECT]- takes the taint off."),
    ("label", "NODE:KEY=VALUE", ValueHint::Other, "Set this label of a node; NODE:KEY- removes it."),
    ("add", "N*NODE|FILE", ValueHint::FilePath, "Add so many nodes like this one, or the nodes of a file."),
    ("delete", "ADDRESS", ValueHint::Other, "Delete this object, and what it owns."),
    ("scale", "ADDRESS=N", ValueHint::Other, "Give this workload so many replicas."),
    ("restart", "ADDRESS", ValueHint::Other, "Restart this workload, by its strategy."),
    ("apply", "FILE", ValueHint::FilePath, "Apply the manifests of this file, as the API server would admit them."),
];

/// Those that the short help shows.
const USUAL: [&str; 4] = ["drain", "fail", "add", "scale"];

/// The actions, in the order in which they were given.
#[derive(Clone, Debug, Default)]
pub(super) struct ActionArgs(Vec<(&'static str, String)>);

impl Args for ActionArgs {
    fn augment_args(command: Command) -> Command {
        let arg = |(name, value, hint, help): Flag| {
            let arg = Arg::new(name).long(name).value_name(value).value_hint(hint).help(help).action(ArgAction::Append);
            arg.help_heading("Actions").hide_short_help(!USUAL.contains(&name))
        };
        command.args(FLAGS.map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ActionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let mut found = Vec::new();
        for (name, ..) in FLAGS {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let indices = matches.indices_of(name).into_iter().flatten();
            found.extend(indices.zip(values).map(|(index, value)| (index, name, value.clone())));
        }
        found.sort_by_key(|(index, ..)| *index);
        Ok(Self(found.into_iter().map(|(_, name, value)| (name, value)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ActionArgs {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The actions as they were written.
    pub(super) fn words(&self) -> Vec<String> {
        self.0.iter().map(|(flag, value)| format!("--{flag} {value}")).collect()
    }

    /// The actions.
    ///
    /// # Errors
    /// One is not of its form, or a file cannot be read.
    pub(super) fn read(&self) -> Result<Vec<WhatIfAction>> {
        self.0.iter().map(|(flag, value)| action(flag, value)).collect()
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
pub(super) fn fit_of(value: &str) -> Result<FitOf> {
    if !Path::new(value).is_file() {
        return Ok(FitOf::Address(value.to_owned()));
    }
    match <[_; 1]>::try_from(manifests(value)?) {
        Ok([object]) => Ok(FitOf::Object(object)),
        Err(objects) => Err(Error::new(format!("--fit {value} holds {} objects: expected one", objects.len()))),
    }
}
