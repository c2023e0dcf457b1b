//! How much a question is about, counted before it is read: what would take the memory of the machine, or minutes, is refused with what to ask instead.

use ketcd_cluster::Cluster;
use ketcd_mcp::Question;
use ketcd_store::KeyRange;

use crate::cli::outcome::{Error, Result};

/// How much a question may be about.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExtentLimits {
    /// A timeline reads every version of its objects and of those that belong to them; an explanation, the state of the cluster at each decision.
    objects: u64,
    /// The keys of a cluster whose timeline is shown as a whole.
    keys: u64,
    /// Each loss places the pods of a node anew: this many are a minute.
    losses: u64,
}

/// What an assistant may ask about.
pub(super) const LIMITS: ExtentLimits = ExtentLimits { objects: 1_000, keys: 20_000, losses: 500 };

/// Whether how much a question is about is counted.
pub(super) fn is_counted(question: &Question) -> bool {
    matches!(question.words.first().map(String::as_str), Some("timeline" | "explain" | "what-if"))
}

/// Refuses a question about too much.
///
/// # Errors
/// It is, or what it names cannot be read.
pub(super) async fn check(cluster: &Cluster, question: &Question, limits: ExtentLimits) -> Result<()> {
    let mut flags = question.words.iter().take_while(|word| *word != "--");
    let (extent, why, hint) = match flags.next().map(String::as_str) {
        Some("timeline") if !flags.any(|flag| flag.starts_with("--around=")) => {
            let hint = "name one object or a namespace, or give `around` a time";
            (many(cluster, question, limits).await?, ["the timeline of", "objects is more than has room"], hint)
        }
        Some("explain") => {
            let hint = "name one pod, what owns it, or a namespace";
            (many(cluster, question, limits).await?, ["a table of the decisions about", "objects is more than has room"], hint)
        }
        Some("what-if") if flags.any(|flag| flag == "--each=node") => {
            let hint = "name a label that many nodes share (each: zone), or the nodes that matter (actions: fail NODE)";
            let nodes = count(cluster, &["nodes".to_owned()]).await?;
            ((nodes, limits.losses), ["the loss of each of", "nodes takes minutes"], hint)
        }
        _ => return Ok(()),
    };
    let ((found, most), [what, is_too_much]) = (extent, why);
    if found <= most {
        return Ok(());
    }
    Err(Error::new(format!("{what} {found} {is_too_much}: at most {most}")).hint(hint))
}

/// How many objects a story, or decisions, are about, and how many they may be.
async fn many(cluster: &Cluster, question: &Question, limits: ExtentLimits) -> Result<(u64, u64)> {
    if named(question).is_empty() {
        // A namespace has its part of each kind.
        let keys = if question.namespace.is_some() { 0 } else { cluster.source.count(KeyRange::all(), cluster.at).await? };
        return Ok((keys, limits.keys));
    }
    // An address that cannot be read is the command's to refuse.
    Ok((objects(cluster, question).await.unwrap_or_default(), limits.objects))
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

#[cfg(test)]
mod tests {
    use ketcd_cluster::{Options, files};
    use ketcd_store::load;
    use serde_json::{Value, json};

    use super::*;

    /// As much as the cluster of these tests has: three nodes, and four pods in two namespaces.
    const SMALL: ExtentLimits = ExtentLimits { objects: 4, keys: 7, losses: 3 };

    /// A cluster that holds exactly what may be asked about.
    async fn cluster() -> Cluster {
        let object = |kind: &str, metadata: Value| json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
        let nodes = ["a", "b", "c"].map(|name| object("Node", json!({"name": name})));
        let pods = [("shop", "a"), ("shop", "b"), ("shop", "c"), ("web", "a")];
        let pods = pods.map(|(namespace, name)| object("Pod", json!({"name": name, "namespace": namespace})));
        let items: Vec<Value> = nodes.into_iter().chain(pods).collect();
        let file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
        std::fs::write(file.path(), json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
        let opened = files::open(&[file.path().display().to_string()], &load::Limits::default()).unwrap();
        Cluster::open(opened.source, Options { all_namespaces: true, ..Options::default() }).await.unwrap()
    }

    fn asked(words: &str, namespace: Option<&str>) -> Question {
        let words = words.split_whitespace().map(str::to_owned).collect();
        Question { words, namespace: namespace.map(str::to_owned), ..Question::default() }
    }

    /// Why a question is refused, and what is to be asked instead; empty where it is answered.
    async fn refused(words: &str, namespace: Option<&str>, limits: ExtentLimits) -> String {
        let checked = check(&cluster().await, &asked(words, namespace), limits).await;
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[tokio::test]
    async fn as_much_as_may_be_is_answered_and_one_more_is_refused() {
        let (less_objects, less_keys, less_losses) =
            (ExtentLimits { objects: 3, ..SMALL }, ExtentLimits { keys: 6, ..SMALL }, ExtentLimits { losses: 2, ..SMALL });
        for (words, limits, why, hint) in [
            ("timeline -- pods", less_objects, "the timeline of 4 objects is more than has room: at most 3", "`around`"),
            ("timeline", less_keys, "the timeline of 7 objects is more than has room: at most 6", "a namespace"),
            ("explain -- pods", less_objects, "a table of the decisions about 4 objects is more than has room: at most 3", "one pod"),
            ("what-if --each=node", less_losses, "the loss of each of 3 nodes takes minutes: at most 2", "each: zone"),
        ] {
            assert_eq!(refused(words, None, SMALL).await, "", "{words}");
            let refused = refused(words, None, limits).await;
            assert!(refused.contains(why) && refused.contains(hint), "{words}: {refused}");
        }
    }

    #[tokio::test]
    async fn what_says_that_it_is_about_less_is_answered() {
        let none = ExtentLimits { objects: 1, keys: 0, losses: 0 };
        for (words, namespace) in [
            ("timeline", Some("shop")),
            ("timeline --around=10m", None),
            ("timeline -- pod/shop/a", None),
            ("explain -- pod/web/a", None),
            ("what-if --each=zone", None),
            ("what-if --drain=a", None),
            // Words behind `--` are what the client named, whatever they look like.
            ("what-if -- --each=node", None),
            ("triage", None),
            ("history -- pods", None),
        ] {
            assert_eq!(refused(words, namespace, none).await, "", "{words}");
        }
        // What it names cannot be read: the command says so.
        assert_eq!(refused("timeline -- gizmos", None, none).await, "");
    }

    #[test]
    fn only_what_is_checked_is_counted() {
        for (words, is_counted) in
            [("timeline", true), ("explain -- pods", true), ("what-if", true), ("triage", false), ("get -- pods", false)]
        {
            assert_eq!(super::is_counted(&asked(words, None)), is_counted, "{words}");
        }
    }

    /// Users are promised these numbers.
    #[test]
    fn the_limits_are_those_that_security_md_names() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/SECURITY.md")).unwrap();
        let ExtentLimits { objects, keys, losses } = LIMITS;
        let thousands = |number: u64| format!("{},{:03}", number / 1_000, number % 1_000);
        for promised in [
            format!("more than {} named objects", thousands(objects)),
            format!("a cluster with more than {} keys", thousands(keys)),
            format!("each of more than {losses} nodes"),
        ] {
            assert!(page.contains(&promised), "SECURITY.md does not say {promised:?}");
        }
    }
}
