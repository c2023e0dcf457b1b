//! How much a question is about, counted before it is read: what would take the memory of the machine, or minutes, is refused with what to ask instead.

use ketcd_cluster::Cluster;
use ketcd_mcp::Question;
use ketcd_store::KeyRange;

use crate::cli::outcome::{Error, Result};

/// A timeline reads every version of its objects and of those that belong to them; an explanation, the state of the cluster at each decision.
const MAX_OBJECTS: u64 = 1_000;
/// The keys of a cluster whose timeline is shown as a whole.
const MAX_KEYS: u64 = 20_000;
/// Each loss places the pods of a node anew: this many are a minute.
const MAX_LOSSES: u64 = 500;

/// Whether how much a question is about is counted.
pub(super) fn is_counted(question: &Question) -> bool {
    matches!(question.words.first().map(String::as_str), Some("timeline" | "explain" | "what-if"))
}

/// Refuses a question about too much.
///
/// # Errors
/// It is, or what it names cannot be read.
pub(super) async fn check(cluster: &Cluster, question: &Question) -> Result<()> {
    let mut flags = question.words.iter().take_while(|word| *word != "--");
    match flags.next().map(String::as_str) {
        Some("timeline") if !flags.any(|flag| flag.starts_with("--around=")) => {
            many(cluster, question, "the timeline", "name one object or a namespace, or give `around` a time").await
        }
        Some("explain") => many(cluster, question, "a table of the decisions", "name one pod, what owns it, or a namespace").await,
        Some("what-if") if flags.any(|flag| flag == "--each=node") => {
            let nodes = count(cluster, &["nodes".to_owned()]).await?;
            let hint = "name a label that many nodes share (each: zone), or the nodes that matter (actions: fail NODE)";
            refused_above(MAX_LOSSES, nodes, || format!("the loss of each of {nodes} nodes takes minutes"), hint)
        }
        _ => Ok(()),
    }
}

/// A story, or decisions, of too many objects.
async fn many(cluster: &Cluster, question: &Question, what: &str, hint: &str) -> Result<()> {
    if named(question).is_empty() {
        // A namespace has its part of each kind.
        let keys = if question.namespace.is_some() { 0 } else { cluster.source.count(KeyRange::all(), cluster.at).await? };
        return refused_above(MAX_KEYS, keys, || format!("{what} of {keys} objects is more than has room"), hint);
    }
    // An address that cannot be read is the command's to refuse.
    let Ok(objects) = objects(cluster, question).await else { return Ok(()) };
    refused_above(MAX_OBJECTS, objects, || format!("{what} of {objects} objects is more than has room"), hint)
}

fn refused_above(most: u64, found: u64, why: impl FnOnce() -> String, hint: &str) -> Result<()> {
    if found > most { Err(Error::new(why()).hint(hint)) } else { Ok(()) }
}

/// Counts the objects that a question names.
///
/// # Errors
/// An address that cannot be read, or the source cannot be.
pub(super) async fn objects(cluster: &Cluster, question: &Question) -> Result<u64> {
    count(cluster, &named(question)).await
}

/// What stands behind `--`.
fn named(question: &Question) -> Vec<String> {
    question.words.iter().skip_while(|word| *word != "--").skip(1).cloned().collect()
}

async fn count(cluster: &Cluster, words: &[String]) -> Result<u64> {
    let prefix = cluster.prefix().await?;
    let mut objects = 0;
    for address in cluster.addresses(words).await? {
        let (key, is_whole) = address.key(prefix);
        let keys = if is_whole { KeyRange::key(key) } else { KeyRange::prefix(key) };
        objects += cluster.source.count(keys, cluster.at).await?;
    }
    Ok(objects)
}
