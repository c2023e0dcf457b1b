//! `ketcd ls`: objects of kinds, everything, what lies below a raw key; without a kind, counts and bytes by kind.

use clap::Args;

use crate::cli::listing::compaction::repeated;
use crate::cli::listing::{self, ListArgs, ListingTarget, inventory};
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::command::Ask;
use ketcd_cluster::kinds::joined;
use ketcd_cluster::rights::Question;
use ketcd_kube::{Address, Scope};

/// List objects; without a kind, count them by kind
///
/// Prints tables as kubectl does. A raw key ending in a slash lists the keys below it.
#[derive(Args, Debug)]
#[command(before_help = "\
# How many objects of each kind there are, and their size\n\
ketcd -f snapshot.db ls\n\
# Pods with a label, in all namespaces\n\
ketcd -f snapshot.db ls pods -A -l app=spread")]
pub(crate) struct LsArgs {
    /// Kinds (`pods`, `po,svc`, `crontabs.stable.example.com`, `all`), a kind and names of it, addresses, or raw keys.
    #[arg(value_name = "KIND")]
    kinds: Vec<String>,
    /// List every object of every kind.
    #[arg(long, conflicts_with = "kinds")]
    all: bool,
    #[command(flatten)]
    list: ListArgs,
}

impl Ask for LsArgs {
    const SHOWS_PART: bool = true;

    fn question(&self) -> Question<'_> {
        if self.all { Question::EveryObject } else { Question::Objects(&self.kinds) }
    }

    fn prints_columns(&self, format: &Format) -> bool {
        format.is_columns()
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        if self.all {
            return listing::list(session, "ls", &ListingTarget::Everything, &self.list, out).await;
        }
        if self.kinds.is_empty() {
            if self.list.select.is_given() {
                return Err(Error::new("selectors need a kind").hint("name one, or use --all"));
            }
            return repeated(session, out, async |out, _| inventory::kinds(session, self.list.no_headers, out).await).await;
        }
        let mut addresses = Vec::new();
        for word in words(session, &self.kinds).await? {
            addresses.extend(session.cluster.address(&word).await?);
        }
        let is_table = matches!(session.format, Format::Table | Format::Wide);
        if is_table && addresses.iter().all(|address| matches!(address, Address::Key(_))) && !addresses.is_empty() {
            return repeated(session, out, async |out, _| inventory::keys(session, &addresses, self.list.no_headers, out).await).await;
        }
        listing::list(session, "ls", &ListingTarget::Addresses(addresses), &self.list, out).await
    }
}

/// The words as addresses: `pods svc` are two kinds, and `pod web-0` is a kind and a name of it, as no kind is called `web-0`.
async fn words(session: &Session, words: &[String]) -> Result<Vec<String>> {
    let [kinds, names @ ..] = words else { return Ok(Vec::new()) };
    let kinds_known = match names {
        [] => return Ok(words.to_vec()),
        _ => session.cluster.kinds().await?,
    };
    let is_kind = |word: &String| Address::parse(word, kinds_known, &Scope::All).is_ok();
    Ok(if is_kind(kinds) && !names.iter().any(is_kind) { joined(words) } else { words.to_vec() })
}
