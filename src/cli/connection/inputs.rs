//! The files that a command reads, which nothing is written to.

use super::etcd;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::output::destination::Input;

/// Returns the files that the flags name.
pub(in crate::cli) fn inputs(args: &GlobalArgs) -> Vec<Input> {
    let files = args.sources().0.into_iter().map(|path| Input { flag: "-f", path: path.into() });
    let config = args.encryption_config.iter().map(|path| Input { flag: "--encryption-config", path: path.clone() });
    let connection = if args.names_live_etcd() { etcd::files(&args.connection) } else { Vec::new() };
    files.chain(config).chain(connection.into_iter().map(|(flag, path)| Input { flag, path })).collect()
}
