//! The commands, one file each: flags, one question to the cluster, output. A new one is its file and two lines here: its module, and its row
//! in the table.

mod blame;
mod bundle;
mod completion;
mod decode;
mod describe;
mod diff;
mod encryption;
mod events;
mod explain;
mod export;
mod extract;
mod get;
mod grep;
mod history;
mod ls;
mod mcp;
mod plugins;
mod record;
mod refused;
mod rehearse;
mod report;
mod schema;
mod serve;
mod status;
mod timeline;
mod tree;
mod triage;
mod ui;
mod usage;
mod verify;
mod watch;
mod what_if;

use clap::{Args, Subcommand};

use crate::cli::session::command::Run;

/// Commands that answer one kind of question.
pub(super) struct Group {
    /// What they answer.
    pub heading: &'static str,
    /// Their names, in the order of the help.
    pub commands: &'static [&'static str],
}

/// Makes the table of commands, in groups, the type that clap reads and the help's order, and finds the one that was named.
macro_rules! commands {
    ($($heading:literal { $($command:ident($module:ident::$args:ident)),* $(,)? })*) => {
        /// What to do.
        #[derive(Subcommand, Debug)]
        pub(super) enum Command {
            $($($command($module::$args),)*)*
            #[command(flatten)]
            Refused(refused::Refused),
        }

        /// The groups of the table, with the modules' names, which are the commands'.
        pub(super) const COMMAND_GROUPS: &[Group] = &[
            $(Group { heading: $heading, commands: &[$(stringify!($module)),*] },)*
        ];

        impl Command {
            /// The command of a name alone, as clap reads it among the others.
            pub(super) fn one(name: &str) -> Option<clap::Command> {
                let module = name.replace('-', "_");
                $($(if module == stringify!($module) {
                    return Some($module::$args::augment_args(clap::Command::new(name.to_owned())));
                })*)*
                None
            }

            pub(super) fn as_run(&self) -> &dyn Run {
                match self {
                    $($(Self::$command(args) => args,)*)*
                    Self::Refused(refused) => refused,
                }
            }
        }
    };
}

commands! {
    "Look" {
        Get(get::GetArgs),
        Ls(ls::LsArgs),
        Describe(describe::DescribeArgs),
        Tree(tree::TreeArgs),
        Events(events::EventsArgs),
    }
    "What happened" {
        Triage(triage::TriageArgs),
        Timeline(timeline::TimelineArgs),
        History(history::HistoryArgs),
        Watch(watch::WatchArgs),
        Diff(diff::DiffArgs),
        Blame(blame::BlameArgs),
        Grep(grep::GrepArgs),
        Report(report::ReportArgs),
        Ui(ui::UiArgs),
    }
    "Why" {
        Explain(explain::ExplainArgs),
        WhatIf(what_if::WhatIfArgs),
        Plugins(plugins::PluginsArgs),
    }
    "Keep" {
        Record(record::RecordArgs),
        Extract(extract::ExtractArgs),
        Export(export::ExportArgs),
        Bundle(bundle::BundleArgs),
        Serve(serve::ServeArgs),
        Mcp(mcp::McpArgs),
    }
    "Source" {
        Status(status::StatusArgs),
        Verify(verify::VerifyArgs),
        Rehearse(rehearse::RehearseArgs),
        Usage(usage::UsageArgs),
        Encryption(encryption::EncryptionArgs),
        Decode(decode::DecodeArgs),
        Schema(schema::SchemaArgs),
        Completion(completion::CompletionArgs),
    }
}
