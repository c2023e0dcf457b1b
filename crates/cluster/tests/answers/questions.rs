//! Questions that commands ask, asked of a recorded cluster: what differs, what decided, what is exported, what comes next.

use futures_util::TryStreamExt;

use ketcd_cluster::diff::{ComparedState, Incomparable, Members, diff};
use ketcd_cluster::explain::Pods;
use ketcd_cluster::export::Exported;
use ketcd_cluster::read::Keys;
use ketcd_cluster::replay::SchedulerOptions;
use ketcd_cluster::{Cluster, Error, Nothing, Notice, Options, Selection, files};
use ketcd_history::ChangeKind;
use ketcd_store::load::{Limits, open_within};
use ketcd_store::{At, Revision, Source};
use ketcd_testing::temporary;

use crate::fixture::{capture, end, noting, path};

async fn open(options: Options) -> Cluster {
    capture("k120-story", options).await
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[tokio::test]
async fn two_states_differ_in_what_changed_between_them() {
    let cluster = open(Options::default()).await;
    let states = ComparedState::between(&cluster, Some(end(600)), Some(end(800))).await.unwrap();
    assert!(states[0].name.starts_with("r600 (") && states[1].name.starts_with("r800 ("), "{} {}", states[0].name, states[1].name);
    let found = diff(&states, &words(&["deploy/web/tomcat", "pod/web/nothing"]), &Selection::default()).await.unwrap();
    let [named] = &found.differences[..] else { panic!("{} differences", found.differences.len()) };
    assert_eq!((&*named.subject.kind, &*named.subject.namespace, &*named.name()), ("Deployment", "web", "tomcat"));
    assert_eq!(named.difference.kind(), ChangeKind::Modified);
    assert_eq!(found.absent.iter().map(|absent| absent.key.as_str()).collect::<Vec<_>>(), ["/registry/pods/web/nothing"]);
    let same = [states[1].clone(), states[1].clone()];
    assert!(diff(&same, &[], &Selection::default()).await.unwrap().differences.is_empty());
}

#[tokio::test]
async fn a_namespace_that_neither_state_has_is_an_error() {
    let cluster = open(Options { namespace: Some("nowhere".to_owned()), ..Options::default() }).await;
    let states = [ComparedState::newest(&cluster, "yesterday.db"), ComparedState::newest(&cluster, "today.db")];
    let error = diff(&states, &[], &Selection::default()).await.map(drop).unwrap_err();
    assert!(matches!(&error, Error::Nothing(Nothing::InEither { namespace, .. }) if namespace == "nowhere"), "{error:?}");
    assert_eq!(error.to_string(), "nothing found in namespace \"nowhere\", neither in yesterday.db nor in today.db");
}

#[tokio::test]
async fn members_are_compared_at_a_revision_that_all_have() {
    let source = || open_within(&[path("k120-story")], &Limits::default(), &|_| None);
    let member = |name: &str| (name.to_owned(), source().unwrap());
    let members = Members::read(vec![member("a"), member("b")]).await.unwrap();
    assert!(!members.are_damaged() && members.late_damage().is_empty());
    let comparison = members.compare(At::Newest).await.unwrap();
    assert!(comparison.keys > 100 && comparison.differences.is_empty() && comparison.alone().is_none());
    let later = At::Revision(Revision(comparison.revision.0 + 1));
    let error = members.compare(later).await.map(drop).unwrap_err();
    assert!(matches!(error, Error::Incomparable(Incomparable::NotYet { .. })), "{error:?}");
    let alone = Members::read(vec![member("a")]).await.unwrap().compare(At::Newest).await.map(drop).unwrap_err();
    assert!(matches!(alone, Error::Incomparable(Incomparable::TooFew)), "{alone:?}");
}

#[tokio::test]
async fn every_decision_is_explained_and_the_last_one_about_each_pod_is_kept() {
    let cluster = open(Options { all_namespaces: true, ..Options::default() }).await;
    let (mut all, mut bound) = (0, 0);
    let mut decisions = cluster.explainer(&SchedulerOptions::default()).await.unwrap().decisions();
    let walked = decisions.each(|decision| {
        all += 1;
        bound += usize::from(decision.explain().explanation.attempt.pod.node_name.is_some());
        Ok::<(), Error>(())
    });
    walked.await.unwrap();
    assert!(all > 20 && decisions.unreadable() == 0, "{all} decisions, {bound} bound");
    let pods = Pods::read(&cluster, &words(&["pods"])).await.unwrap();
    let mut decisions = cluster.explainer(&SchedulerOptions::default()).await.unwrap().decisions();
    let last = decisions.last_about(&pods, |decided| Ok::<_, Error>(decided.explanation.attempt.revision)).await.unwrap();
    assert!(last.len() > 10, "{} pods", last.len());
    assert!(last.keys().any(|(namespace, name)| &**namespace == "lab" && &**name == "ubuntu"));
}

#[tokio::test]
async fn what_is_exported_already_is_counted_and_not_read() {
    let cluster = open(Options::default()).await;
    let clock = cluster.clock_of_writers(&[], &[], &[]).await.unwrap();
    let all: Vec<Exported> = cluster.exported(clock.clone(), None, |_| false).try_collect().await.unwrap();
    let events = |exported: &&Exported| matches!(exported, Exported::Change { is_event: true, stored: Some(_), .. });
    let written = all.iter().filter(events).count();
    assert!(written > 0 && all.iter().all(|exported| matches!(exported, Exported::Change { .. })));
    let present: Vec<Exported> = cluster.exported(clock, None, |_| true).try_collect().await.unwrap();
    assert_eq!(present.len(), all.len());
    assert_eq!(present.iter().filter(|exported| matches!(exported, Exported::Present { writes_event: true })).count(), written);
    assert_eq!(cluster.identity().await.unwrap().unwrap().len(), 36);
}

#[tokio::test]
async fn a_file_is_watched_from_its_beginning_and_says_so() {
    let (options, kept) = noting(Options::default());
    let cluster = open(options).await;
    let keys = Keys::of(&cluster, &words(&["pod/lab/ubuntu"])).await.unwrap();
    let mut watching = cluster.watching(keys.clone(), None).await.unwrap();
    assert_eq!(watching.from(), Revision(1));
    assert!(watching.initial().await.unwrap().is_none());
    assert!(kept.lock().unwrap().iter().any(|notice| matches!(notice, Notice::DoesNotChange { .. })));
    let changes: Vec<_> = watching.history().await.unwrap().changes().try_collect().await.unwrap();
    assert!(changes.len() > 3);
    let newest = cluster.source.span().await.unwrap().newest;
    let later = cluster.watching(keys, Some(newest)).await.unwrap();
    let rest: Vec<_> = later.history().await.unwrap().changes().try_collect().await.unwrap();
    assert!(rest.len() < changes.len());
}

#[tokio::test]
async fn contents_and_seals_count_every_value() {
    let cluster = open(Options::default()).await;
    let status = cluster.source.status().await.unwrap();
    let span = cluster.readable_span().await.unwrap();
    let contents = cluster.contents(&status, span, false).await.unwrap();
    assert!(contents.census.keys > 100 && !contents.is_sampled && contents.refusal.is_none() && contents.one_moment.is_none());
    assert!(contents.dated.is_some());
    let rows = cluster.seals(None).await.unwrap();
    assert!(rows.iter().any(|row| row.resource == "secrets" && row.values > 0), "{rows:?}");
}

#[tokio::test]
async fn api_objects_are_no_member() {
    let file = temporary::file("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: web\n");
    let objects: Box<dyn Source> = files::open(&[file.path().to_str().unwrap().to_owned()], &Limits::default()).unwrap().source;
    let error = Members::read(vec![("objects.yaml".to_owned(), objects)]).await.map(drop).unwrap_err();
    assert!(matches!(error, Error::Incomparable(Incomparable::Objects { .. })), "{error:?}");
}
