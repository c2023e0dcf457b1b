//! `ketcd schema`: the JSON Schemas of what commands print as JSON.

use std::io::Write;

use clap::Args;

use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::Output;
use crate::cli::session::command::Run;
use ketcd_kube::nearest;
use ketcd_render::contract::{self, Contract, JSON_CONTRACTS};
use ketcd_render::style::Content;

/// Print the JSON Schema of a command's JSON output, or list them all
///
/// Every command with `-o json` or `-o ndjson` has one schema, which describes both forms. Its title is its name and version, such as
/// `ketcd/v1/status`. Within a version, fields keep their names, types and meanings; new fields, new words of an enumeration and new
/// kinds of documents may be added.
#[derive(Args, Debug)]
#[command(before_help = "\
# The commands that print JSON, each with its schema's name\n\
ketcd schema\n\
# The schema of what `history -o json` prints\n\
ketcd schema history")]
pub(crate) struct SchemaArgs {
    /// The command: status, history, …
    #[arg(value_name = "COMMAND")]
    name: Option<String>,
}

impl Run for SchemaArgs {
    fn run(&self, _global: &GlobalArgs, out: &mut Output) -> Result<Outcome> {
        let Some(name) = &self.name else {
            for contract in JSON_CONTRACTS {
                writeln!(out, "{:12}{}", contract.command, contract.name())?;
            }
            return Ok(Outcome::Found);
        };
        let contract = contract::find(name).ok_or_else(|| unknown(name))?;
        out.set_content(Content::Json);
        serde_json::to_writer_pretty(&mut *out, &contract.schema())?;
        writeln!(out)?;
        Ok(Outcome::Found)
    }
}

fn unknown(name: &str) -> Error {
    let commands: Vec<&str> = JSON_CONTRACTS.iter().map(|Contract { command, .. }| *command).collect();
    let near = nearest(name, commands.iter().map(|command| (*command, *command)));
    let hint = if near.is_empty() { format!("use one of {}", commands.join(", ")) } else { format!("did you mean {}?", near.join(" or ")) };
    Error::new(format!("no command {name:?} prints JSON")).hint(hint)
}
