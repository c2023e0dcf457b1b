//! `ketcd get`: objects as the API server would print them.

use clap::Args;

use crate::cli::listing::{self, ListArgs, Wanted};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result, with_config};

/// Print objects as the API server returns them
///
/// Prints JSON unless -o says otherwise: one object, or a List of several. With --with-config, prints a pod together with the ConfigMaps and
/// Secrets that its containers started with, and what changed in them since.
#[derive(Args, Debug)]
pub(crate) struct GetArgs {
    /// The objects: kind/namespace/name, kind/name, a kind, a kind followed by names, or a raw key.
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
    /// Show a pod with the ConfigMaps and Secrets that its containers started with, and what changed in them since.
    #[arg(long)]
    with_config: bool,
    #[command(flatten)]
    list: ListArgs,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &GetArgs, out: &mut Output) -> Result<Outcome> {
    if args.with_config {
        return with_config::run(session, &args.addresses, out).await;
    }
    let addresses = session.addresses(&args.addresses).await?;
    if addresses.is_empty() {
        return Err(Error::new("no kind was named").hint("write kind/namespace/name, or a kind"));
    }
    let format = if session.args.output.is_none() { &Format::Json } else { &session.format };
    listing::list(session, ("get", &Wanted::Addresses(addresses)), &args.list, format, out).await
}
