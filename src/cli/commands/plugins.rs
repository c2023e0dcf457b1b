//! `ketcd plugins`: the scheduling rules known, and each one's page.

use std::io::Write;

use clap::Args;

use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::command::Run;
use ketcd_kube::nearest;
use ketcd_render::contract::plugins::{Plugin, PluginList};
use ketcd_render::{json, plugins as page};
use ketcd_scheduler::{registry, scheduler_release};

/// List the scheduler's plugins, or describe one
///
/// Covers the plugins of kube-scheduler, and the predicates and priorities that releases up to 1.16 had instead. The page of a plugin says
/// what it checks, what it reads, which releases run it by default, and how it changed from release to release.
#[derive(Args, Debug)]
#[command(before_help = "\
# What a plugin checks, and in which releases\n\
ketcd plugins PodTopologySpread\n\
# The plugins of kube-scheduler 1.20\n\
ketcd plugins --scheduler-version 1.20")]
pub(crate) struct PluginsArgs {
    /// The name of a plugin, predicate or priority, in any case.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// List only what this release runs by default, for example 1.28.
    #[arg(long, value_name = "VERSION")]
    scheduler_version: Option<String>,
}

impl Run for PluginsArgs {
    fn prints_text(&self) -> bool {
        true
    }

    fn run(&self, global: &GlobalArgs, out: &mut Output) -> Result<Outcome> {
        let format = global.format()?;
        let release =
            self.scheduler_version.as_deref().map(scheduler_release).transpose().map_err(|error| Error::new(error.to_string()))?;
        let rules = match &self.name {
            Some(name) => vec![registry::page(name).ok_or_else(|| unknown(name))?],
            None => registry::all().collect(),
        };
        let rows: Vec<page::PluginRow> =
            rules.into_iter().map(page::PluginRow::of).filter(|row| release.is_none_or(|release| row.runs_in(release))).collect();
        match format {
            Format::Table | Format::Wide if self.name.is_some() => rows.iter().try_for_each(|row| page::page(row, out.width(), out))?,
            Format::Table | Format::Wide => page::list(&rows, out.width(), out)?,
            Format::Name => rows.iter().try_for_each(|row| writeln!(out, "{}", row.name()))?,
            Format::Json => {
                let items: Vec<Plugin<'_>> = rows.iter().map(Plugin::from).collect();
                match &self.name {
                    Some(_) => json::write_document(&items.first(), out)?,
                    None => json::write_document(&PluginList { kind: "List", items }, out)?,
                }
            }
            other => return Err(other.unsupported("plugins", "table, json, name")),
        }
        Ok(if rows.is_empty() { Outcome::Nothing } else { Outcome::Found })
    }
}

/// The error about a name that no rule has, with those that look like it.
fn unknown(name: &str) -> Error {
    let wanted = name.to_ascii_lowercase();
    let known: Vec<(&str, String)> = registry::all().map(|plugin| (plugin.name(), plugin.name().to_ascii_lowercase())).collect();
    let mut near: Vec<&str> = known.iter().filter(|(_, lower)| lower.contains(&wanted)).map(|(name, _)| *name).collect();
    if near.is_empty() {
        near = nearest(&wanted, known.iter().map(|(name, lower)| (lower.as_str(), *name)));
    }
    let hint = if near.is_empty() { "ketcd plugins lists them all".to_owned() } else { format!("did you mean {}?", near.join(", ")) };
    Error::new(format!("no plugin, predicate or priority is called {name:?}")).hint(hint)
}
