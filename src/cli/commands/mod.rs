//! The commands, one file each: flags, one question to the cluster, output. A new one is its file and two lines here: its module, and its row
//! in the table.

mod blame;
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
mod history;
mod ls;
mod plugins;
mod record;
mod refused;
mod report;
mod schema;
mod serve;
mod status;
mod timeline;
mod tree;
mod triage;
mod usage;
mod watch;

use clap::Subcommand;

use super::running::Run;

/// Makes the table of commands the type that clap reads, and finds the one that was named.
macro_rules! commands {
    ($($command:ident($module:ident::$args:ident)),* $(,)?) => {
        /// What to do.
        #[derive(Subcommand, Debug)]
        pub(super) enum Command {
            $($command($module::$args),)*
            #[command(flatten)]
            Refused(refused::Refused),
        }

        impl Command {
            /// Returns what runs.
            pub(super) fn as_run(&self) -> &dyn Run {
                match self {
                    $(Self::$command(args) => args,)*
                    Self::Refused(refused) => refused,
                }
            }
        }
    };
}

commands! {
    Blame(blame::BlameArgs),
    Completion(completion::CompletionArgs),
    Decode(decode::DecodeArgs),
    Describe(describe::DescribeArgs),
    Encryption(encryption::EncryptionArgs),
    Diff(diff::DiffArgs),
    Events(events::EventsArgs),
    Explain(explain::ExplainArgs),
    Export(export::ExportArgs),
    Extract(extract::ExtractArgs),
    Get(get::GetArgs),
    History(history::HistoryArgs),
    Ls(ls::LsArgs),
    Plugins(plugins::PluginsArgs),
    Record(record::RecordArgs),
    Report(report::ReportArgs),
    Schema(schema::SchemaArgs),
    Serve(serve::ServeArgs),
    Status(status::StatusArgs),
    Timeline(timeline::TimelineArgs),
    Tree(tree::TreeArgs),
    Triage(triage::TriageArgs),
    Usage(usage::UsageArgs),
    Watch(watch::WatchArgs),
}
