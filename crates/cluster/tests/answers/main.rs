//! Questions to a recorded cluster, asked as a program asks them: without a command line.

mod audit;
mod costs;
mod encryption;
mod explain;
mod extract;
mod fixture;
mod gaps;
mod grep;
mod history;
mod kinds;
mod log_alone;
mod names;
mod namespaces;
mod objects;
mod openshift;
mod other_requests;
mod questions;
mod rehearsals;
mod rehearse_losses;
mod related;
mod rules;
mod spec_diff;
mod traces;
mod triage;
mod usage;
mod verify;
mod verify_model;

use futures_util::TryStreamExt;

use ketcd_cluster::not_found::{Elsewhere, Looked, NotFound, Whereabouts};
use ketcd_cluster::read::Keys;
use ketcd_cluster::{At, Error, LabelSelector, Notice, Object, Options, Read, Revision, Selection};
use ketcd_history::ChangeKind;

use fixture::{at, capture, noting, open, path};

#[tokio::test]
async fn a_history_begins_with_the_creation() {
    let cluster = capture("k120-story", Options::default()).await;
    let read: Vec<Read<_>> = cluster.changes("pod/lab/ubuntu").try_collect().await.unwrap();
    let found: Vec<_> = read.into_iter().filter_map(|read| if let Read::Item(change) = read { Some(change) } else { None }).collect();
    let changes: Vec<_> = found.iter().map(|attributed| &attributed.change).collect();
    assert!(changes.len() > 3);
    assert_eq!(changes[0].kind, ChangeKind::Added);
    assert!(
        changes.is_sorted_by_key(|change| change.revision) && changes.iter().all(|change| &*change.key == b"/registry/pods/lab/ubuntu")
    );
    assert!(found.iter().all(|attributed| attributed.dated.is_some()));
    let error = cluster.changes("widgetz/a").try_next().await.map(drop).unwrap_err();
    assert!(matches!(error, Error::Address(_)), "{error:?}");
}

#[tokio::test]
async fn list_returns_the_objects_of_an_address_in_the_order_of_their_keys() {
    let selection = Selection { labels: LabelSelector::parse("app=spread").unwrap(), ..Selection::default() };
    let all = Options { all_namespaces: true, ..Options::default() };
    let cluster = capture("k120-story", Options { selection, ..all.clone() }).await;
    let spread: Vec<Object> = cluster.list("pods").try_collect().await.unwrap();
    assert!(!spread.is_empty() && spread.iter().all(|pod| pod["metadata"]["labels"]["app"] == "spread" && pod["kind"] == "Pod"));
    let cluster = capture("k120-story", Options { at: At::Revision(Revision(600)), ..all }).await;
    let pods: Vec<Object> = cluster.list("pods").try_collect().await.unwrap();
    let place = |pod: &Object| (pod["metadata"]["namespace"].to_string(), pod["metadata"]["name"].to_string());
    assert!(pods.len() > 5 && pods.is_sorted_by_key(place));
    assert!(pods.iter().all(|pod| pod["metadata"]["resourceVersion"].as_str().unwrap().parse::<i64>().unwrap() <= 600));
    let error = cluster.list("widgetz").try_next().await.map(drop).unwrap_err();
    assert!(matches!(error, Error::Address(_)), "{error:?}");
}

#[tokio::test]
async fn what_is_not_there_is_found_where_it_is() {
    let cluster = capture("k120-story", Options::default()).await;
    let asked = cluster.subjects(&["pod/default/ubuntu".to_owned()]).await.unwrap();
    let [NotFound { elsewhere: Whereabouts::Elsewhere(Elsewhere::Namespaces(places)), .. }] = &asked.absent[..] else {
        panic!("{:?}", asked.absent)
    };
    assert_eq!(places[0].address(), "pod/lab/ubuntu");
    assert!(asked.objects.is_empty() && asked.nothing_of.is_some());
    let address = cluster.address("pod/lab/ubuntu").await.unwrap().remove(0);
    let before = NotFound::of(&cluster, &address, Looked::At(Revision(1))).await.unwrap();
    assert!(matches!(before.elsewhere, Whereabouts::Elsewhere(Elsewhere::Later(..))), "{before:?}");
}

#[tokio::test]
async fn errors_keep_what_they_are_of() {
    let before = Options { moment: Some("1999-01-01T00:00:00Z".parse().unwrap()), ..Options::default() };
    assert!(matches!(open(&[path("k120-story")], before).await.map(drop), Err(Error::BeforeHistory { from: Some(_), .. })));
    // Its history begins at 22:15:55: a time without seconds means the minute.
    let (options, notices) = noting(at("22:15"));
    let cluster = open(&[path("k120-story")], options).await.unwrap();
    assert_eq!(cluster.at, At::Revision(Revision(1)));
    assert!(notices.lock().unwrap().iter().any(|notice| matches!(notice, Notice::BeginsWithinMinute { .. })));
    for earlier in ["22:14", "22:15:10"] {
        assert!(matches!(open(&[path("k120-story")], at(earlier)).await.map(drop), Err(Error::BeforeHistory { .. })), "{earlier}");
    }
    let cluster = capture("k120-story", Options::default()).await;
    let unknown = Keys::of(&cluster, &["widgetz/a".to_owned()]).await;
    assert!(matches!(unknown, Err(Error::Address(_))), "{unknown:?}");
    let future = Options { at: At::Revision(Revision(1 << 40)), ..Options::default() };
    let error = open(&[path("k120-story")], future).await.map(drop).unwrap_err();
    assert!(matches!(error, Error::Source(ketcd_store::Error::Future { .. })), "{error:?}");
}

#[tokio::test]
async fn notices_go_to_the_sink() {
    let (options, kept) = noting(Options::default());
    let cluster = capture("k120-story", options).await;
    let answer = cluster.triage().await.unwrap();
    assert!(answer.counts.pods > 0 && answer.absence.is_none());
    cluster.note_reach().await.unwrap();
    assert!(!cluster.finish());
    let compacted = cluster.source.span().await.unwrap().compacted.is_some();
    assert_eq!(kept.lock().unwrap().iter().any(|notice| matches!(notice, Notice::Reach { .. })), compacted);
}
