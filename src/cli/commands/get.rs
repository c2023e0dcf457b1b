//! `ketcd get`: objects as kubectl's `get` prints them.

use clap::Args;

use crate::cli::listing::{self, ListArgs, ListingTarget, Watched, pod_configuration};
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::command::Ask;
use ketcd_cluster::rights::Question;

/// Print objects as kubectl's `get` does
///
/// Prints a table. With -o json or -o yaml, prints the objects as the API server returns them: one object, or a List of several. With
/// --with-config, prints a pod together with the ConfigMaps and Secrets that its containers started with, and what has changed in them
/// since.
#[derive(Args, Debug)]
#[command(before_help = "\
# Pods as kubectl shows them\n\
ketcd -f snapshot.db get pods -n lab -o wide\n\
# The manifest of a Deployment as it was at revision 600\n\
ketcd -f snapshot.db get deploy/web/tomcat -o yaml --rev 600")]
pub(crate) struct GetArgs {
    /// The objects: kind/namespace/name, a kind, a kind followed by names, or a raw key.
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
    /// Show a pod with the ConfigMaps and Secrets that its containers started with, and what changed in them since.
    #[arg(long, conflicts_with_all = ["selector", "field_selector"])]
    with_config: bool,
    /// After the objects, print each change: on a live etcd until interrupted, with a file those after the revision shown.
    #[arg(short, long, conflicts_with_all = ["with_config", "sort_by"])]
    watch: bool,
    /// Print only the changes, without the objects first.
    #[arg(long, conflicts_with_all = ["watch", "with_config", "sort_by"])]
    watch_only: bool,
    #[command(flatten)]
    list: ListArgs,
}

impl Ask for GetArgs {
    const SHOWS_PART: bool = true;

    fn may_be_paged(&self) -> bool {
        !(self.watch || self.watch_only)
    }

    fn question(&self) -> Question<'_> {
        if self.with_config { Question::WithConfiguration(&self.addresses) } else { Question::Objects(&self.addresses) }
    }

    fn prints_columns(&self, format: &Format) -> bool {
        !self.with_config && format.is_columns()
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        if self.with_config {
            return pod_configuration::run(session, &self.addresses, out).await;
        }
        let addresses = session.cluster.addresses(&self.addresses).await?;
        if addresses.is_empty() {
            return Err(Error::new("no kind was named").hint("write kind/namespace/name, or a kind"));
        }
        if self.watch || self.watch_only {
            let watched = if self.watch_only { Watched::Changes } else { Watched::ObjectsAndChanges };
            return listing::follow(session, &self.addresses, &self.list, watched, out).await;
        }
        listing::list(session, "get", &ListingTarget::Addresses(addresses), &self.list, out).await
    }
}
