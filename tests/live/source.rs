//! `EtcdSource` against a real etcd: ranges, spans, watches, failover, users.

use etcd_client::{DeleteOptions, Permission, PutOptions, Txn, TxnOp};
use futures_util::{StreamExt, TryStreamExt};
use ketcd_store::etcd::{EtcdConfig, EtcdSource, Password};
use ketcd_store::{At, Error, Event, EventKind, KeyRange, KeyValue, Origin, Revision, Source, Until, Want, WatchItem};

use crate::cluster::cluster;
use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{config, nobody, open, patient};
use crate::pki::{Pki, unwrap_pkcs8};

async fn listed(source: &impl Source, keys: KeyRange, at: At, want: Want) -> (Revision, Vec<KeyValue>) {
    let listing = source.range(keys, at, want).await.unwrap();
    (listing.revision, listing.entries.try_collect().await.unwrap())
}

async fn watched(source: &impl Source, keys: KeyRange, from: i64, until: i64) -> Vec<WatchItem> {
    let watch = source.watch(keys, Revision(from), Until::Revision(Revision(until)));
    watch.try_collect().await.unwrap()
}

/// Revision, sub-revision, kind and key of each change.
type SeenChange = (i64, i64, EventKind, String);

fn changes(items: &[WatchItem]) -> Vec<SeenChange> {
    let event = |item: &WatchItem| match item {
        WatchItem::Event(event) => Some(event.clone()),
        _ => None,
    };
    let name =
        |event: Event| (event.revision.0, event.sub_revision, event.kind, String::from_utf8_lossy(&event.key_value.key).into_owned());
    items.iter().filter_map(event).map(name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_paged_at_one_revision() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    let mut writer = etcd.writer().await;
    let puts: Vec<TxnOp> = (0..100).map(|n| TxnOp::put(format!("/a/{n:04}"), vec![b'x'; 3000], None)).collect();
    writer.txn(Txn::new().and_then(puts)).await.unwrap();
    for from in (100..700).step_by(100) {
        let puts: Vec<TxnOp> = (from..from + 100).map(|n| TxnOp::put(format!("/a/{n:04}"), "y", None)).collect();
        writer.txn(Txn::new().and_then(puts)).await.unwrap();
    }
    writer.put("/b", "other", None).await.unwrap();
    let source = open(config(&etcd, &pki));

    let listing = source.range(KeyRange::prefix("/a/"), At::Newest, Want::Values).await.unwrap();
    let revision = listing.revision;
    // Written after the first page was read: must not be seen.
    writer.put("/a/0650", "changed", None).await.unwrap();
    writer.put("/a/9999", "new", None).await.unwrap();
    let entries: Vec<KeyValue> = listing.entries.try_collect().await.unwrap();
    assert_eq!(entries.len(), 700);
    assert_eq!(entries[0].value.len(), 3000);
    assert_eq!(&entries[650].value[..], b"y");
    assert!(entries.is_sorted_by(|a, b| a.key < b.key));

    let (again, keys) = listed(&source, KeyRange::prefix("/a/"), At::Revision(revision), Want::Keys).await;
    assert_eq!((again, keys.len()), (revision, 700));
    assert!(
        keys.iter()
            .zip(&entries)
            .all(|(key, entry)| key.value.is_empty() && key.key == entry.key && key.mod_revision == entry.mod_revision)
    );
    let (_, one) = listed(&source, KeyRange::key("/b"), At::Newest, Want::Values).await;
    assert_eq!(one.len(), 1);
    let (_, all) = listed(&source, KeyRange::all(), At::Newest, Want::Keys).await;
    assert_eq!(all.len(), 702);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_larger_than_grpcs_default_limit_are_read() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    let mut writer = etcd.writer().await;
    for n in 0..8 {
        writer.put(format!("/big/{n}"), vec![n; 1_400_000], None).await.unwrap();
    }
    let source = open(config(&etcd, &pki));
    let (_, entries) = listed(&source, KeyRange::prefix("/big/"), At::Newest, Want::Values).await;
    assert_eq!(entries.iter().map(|entry| entry.value.len()).sum::<usize>(), 8 * 1_400_000);
    let items = watched(&source, KeyRange::prefix("/big/"), 1, 9).await;
    assert_eq!(changes(&items).len(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bounded_watch_brings_every_change_and_ends_on_quiet_keys() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    let mut writer = etcd.writer().await;
    writer.put("/k/a", "1", None).await.unwrap();
    writer.put("/k/b", "1", None).await.unwrap();
    writer
        .txn(Txn::new().and_then(vec![TxnOp::put("/k/a", "2", None), TxnOp::delete("/k/b", None), TxnOp::put("/x", "1", None)]))
        .await
        .unwrap();
    writer.put("/quiet", "1", None).await.unwrap();
    writer.delete("/k/", Some(DeleteOptions::new().with_prefix())).await.unwrap();
    let source = open(config(&etcd, &pki));
    assert_eq!(source.span().await.unwrap().newest, Revision(6));

    let items = watched(&source, KeyRange::prefix("/k/"), 1, 6).await;
    let expected = [
        (2, 0, EventKind::Put, "/k/a"),
        (3, 0, EventKind::Put, "/k/b"),
        (4, 0, EventKind::Put, "/k/a"),
        (4, 1, EventKind::Delete, "/k/b"),
        (6, 0, EventKind::Delete, "/k/a"),
    ];
    let expected = expected.map(|(revision, sub, kind, key)| (revision, sub, kind, key.to_owned()));
    assert_eq!(changes(&items), expected);
    let WatchItem::Event(deleted) = &items[4] else { panic!("{items:?}") };
    assert_eq!((deleted.key_value.mod_revision, deleted.key_value.version, deleted.origin), (Revision(6), 0, Origin::Live));

    assert_eq!(changes(&watched(&source, KeyRange::prefix("/k/"), 3, 4).await), expected[1..4]);
    assert_eq!(changes(&watched(&source, KeyRange::key("/never"), 1, 6).await), []);
    assert_eq!(changes(&watched(&source, KeyRange::key("/quiet"), 2, 6).await).len(), 1);
    assert!(watched(&source, KeyRange::all(), 5, 4).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_is_a_gap_and_the_span_begins_behind_it() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    let mut writer = etcd.writer().await;
    for n in 2..=20 {
        writer.put("/k", n.to_string(), None).await.unwrap();
    }
    let source = open(config(&etcd, &pki));
    let span = source.span().await.unwrap();
    assert_eq!((span.oldest, span.newest, span.compacted), (Revision(1), Revision(20), None));
    writer.compact(12, None).await.unwrap();
    let span = source.span().await.unwrap();
    assert_eq!((span.oldest, span.newest, span.compacted), (Revision(12), Revision(20), Some(Revision(12))));

    let items = watched(&source, KeyRange::key("/k"), 5, 20).await;
    assert_eq!(items[0], WatchItem::Gap { from: Revision(5), to: Revision(11) });
    let revisions: Vec<i64> = changes(&items).iter().map(|change| change.0).collect();
    assert_eq!(revisions, (12..=20).collect::<Vec<_>>());
    assert_eq!(watched(&source, KeyRange::key("/k"), 5, 8).await, [WatchItem::Gap { from: Revision(5), to: Revision(8) }]);

    let refused = source.range(KeyRange::all(), At::Revision(Revision(11)), Want::Keys).await.err().unwrap();
    assert!(matches!(refused, Error::Compacted { asked: Revision(11), oldest: Revision(12), .. }), "{refused}");
    let refused = source.range(KeyRange::all(), At::Revision(Revision(21)), Want::Keys).await.err().unwrap();
    assert!(matches!(refused, Error::Future { asked: Revision(21), newest: Revision(20) }), "{refused}");
    let refused = source.watch(KeyRange::all(), Revision(22), Until::Forever).next().await.unwrap().unwrap_err();
    assert!(matches!(refused, Error::Future { asked: Revision(22), newest: Revision(20) }), "{refused}");
    assert_eq!(listed(&source, KeyRange::all(), At::Revision(Revision(12)), Want::Keys).await.1.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_watch_survives_restarts_and_a_compaction_meanwhile() {
    let pki = Pki::new();
    let mut etcd = Etcd::mutual(&pki).await;
    etcd.writer().await.put("/k", "2", None).await.unwrap();
    let source = open(config(&etcd, &pki));
    let mut watch = source.watch(KeyRange::key("/k"), Revision(1), Until::Forever);
    let mut seen = Vec::new();
    let mut next = async |seen: &mut Vec<WatchItem>| {
        seen.push(watch.next().await.expect("the watch goes on").unwrap());
    };
    next(&mut seen).await;
    for round in 0..3 {
        etcd.stop();
        etcd.resume().await;
        let mut writer = etcd.writer().await;
        writer.put("/k", format!("{round}"), None).await.unwrap();
        writer.put("/k", format!("{round} again"), None).await.unwrap();
        next(&mut seen).await;
        next(&mut seen).await;
    }
    let revisions: Vec<i64> = changes(&seen).iter().map(|change| change.0).collect();
    assert_eq!(revisions, [2, 3, 4, 5, 6, 7, 8]);

    etcd.stop();
    etcd.resume().await;
    // Before the watch is back, more happens and most of it is compacted away: either all of it is seen or the gap is.
    let mut writer = etcd.writer().await;
    for _ in 9..=14 {
        writer.put("/k", "x", None).await.unwrap();
    }
    writer.compact(13, None).await.unwrap();
    seen.clear();
    while changes(&seen).last().is_none_or(|change| change.0 < 14) {
        next(&mut seen).await;
    }
    let mut expected = 9;
    for item in &seen {
        match item {
            WatchItem::Event(event) => {
                assert_eq!(event.revision.0, expected);
                expected += 1;
            }
            WatchItem::Gap { from, to } => {
                assert_eq!(from.0, expected);
                expected = to.0 + 1;
            }
            WatchItem::Progress(_) => {}
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
    assert_eq!(expected, 15);
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_are_tried_in_order() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    etcd.writer().await.put("/k", "v", None).await.unwrap();
    let mut config = config(&etcd, &pki);
    config.endpoints.insert(0, nobody("https://"));
    config.endpoints.insert(1, "https://no-such-host.invalid:2379".to_owned());
    let source = open(config);
    for _ in 0..20 {
        assert_eq!(listed(&source, KeyRange::key("/k"), At::Newest, Want::Values).await.1.len(), 1);
    }
    assert_eq!(changes(&watched(&source, KeyRange::key("/k"), 1, 2).await).len(), 1);
    let status = source.status().await.unwrap();
    assert_eq!(status.members.len(), 3);
    assert!(status.members[0].error.as_deref().unwrap().contains("connection refused"), "{status:?}");
    assert!(status.members[2].is_leader && status.members[2].error.is_none(), "{status:?}");
    assert!(status.file_bytes > 0 && status.cluster_id.is_some());
    assert_eq!(status.problems.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_every_kind_are_taken() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    let mut with_sec1 = config(&etcd, &pki);
    let pkcs8 = with_sec1.key.clone().unwrap();
    assert!(open(with_sec1.clone()).span().await.is_ok(), "PKCS#8");
    let sec1 = pki.path("sec1.key");
    unwrap_pkcs8(&pkcs8, "EC PRIVATE KEY", &sec1);
    with_sec1.key = Some(sec1);
    assert!(open(with_sec1).span().await.is_ok(), "SEC1");

    let rsa = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/tls/rsa.key");
    let key = rcgen::KeyPair::from_pem(&std::fs::read_to_string(rsa).unwrap()).unwrap();
    let pair = pki.issue_for("rsa", &[], &key, |_| ());
    let pkcs1 = pki.path("pkcs1.key");
    unwrap_pkcs8(rsa.as_ref(), "RSA PRIVATE KEY", &pkcs1);
    let with_pkcs1 = EtcdConfig { cert: Some(pair.cert), key: Some(pkcs1), ..config(&etcd, &pki) };
    assert!(open(with_pkcs1).span().await.is_ok(), "PKCS#1");
}

#[tokio::test(flavor = "multi_thread")]
async fn users_read_what_their_roles_allow() {
    let etcd = Etcd::start(Transport::Plain).await;
    let mut writer = etcd.writer().await;
    writer.put("/registry/pods/a/b", "v", None).await.unwrap();
    writer.put("/secret", "v", None).await.unwrap();
    writer.user_add("root", "rootpw", None).await.unwrap();
    writer.user_grant_role("root", "root").await.unwrap();
    writer.role_add("reader").await.unwrap();
    writer.role_grant_permission("reader", Permission::read("/registry/").with_prefix()).await.unwrap();
    writer.user_add("reader", "readerpw", None).await.unwrap();
    writer.user_grant_role("reader", "reader").await.unwrap();

    let as_user = |user: &str, password: &str| EtcdConfig {
        endpoints: vec![etcd.endpoint()],
        user: Some(user.to_owned()),
        password: Some(Password::new(password.to_owned())),
        ..patient()
    };
    // A user where authentication is off is no error, as with etcdctl.
    assert!(open(as_user("reader", "whatever")).span().await.is_ok());
    writer.auth_enable().await.unwrap();

    let root = open(as_user("root", "rootpw"));
    assert_eq!(listed(&root, KeyRange::all(), At::Newest, Want::Keys).await.1.len(), 2);
    assert_eq!(changes(&watched(&root, KeyRange::prefix("/registry/"), 1, 3).await).len(), 1);
    let reader = open(as_user("reader", "readerpw"));
    assert_eq!(reader.span().await.unwrap().newest, Revision(3));
    assert_eq!(listed(&reader, KeyRange::prefix("/registry/"), At::Newest, Want::Keys).await.1.len(), 1);
    let refused = reader.range(KeyRange::all(), At::Newest, Want::Keys).await.err().unwrap().to_string();
    assert!(refused.contains("does not let user \"reader\" read"), "{refused}");
    let refused = open(as_user("root", "wrong")).span().await.unwrap_err().to_string();
    assert!(refused.contains("does not accept the password of user \"root\""), "{refused}");
    let anonymous = EtcdConfig { user: None, password: None, ..as_user("", "") };
    let refused = open(anonymous).span().await.unwrap_err().to_string();
    assert!(refused.contains("requires a user"), "{refused}");
}

/// What one member of two holds can be read without the other, and the user is notified.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_leader_a_member_shows_what_it_holds() {
    let mut pair = cluster(EtcdRelease::V35, 2, || Transport::Plain, &[]).await;
    let (left, mut lost) = (pair.remove(1), pair.remove(0));
    left.writer().await.put("/k", "v", None).await.unwrap();
    let (notices, received) = std::sync::mpsc::channel();
    let config = EtcdConfig { endpoints: vec![lost.endpoint(), left.endpoint()], ..patient() };
    let notice = move |notice: &str| notices.send(notice.to_owned()).unwrap_or_default();
    let source = EtcdSource::new(config, std::sync::Arc::new(notice)).unwrap();
    assert_eq!(listed(&source, KeyRange::key("/k"), At::Newest, Want::Values).await.1.len(), 1);
    assert!(received.try_recv().is_err());
    lost.stop();
    for _ in 0..2 {
        assert_eq!(listed(&source, KeyRange::key("/k"), At::Newest, Want::Values).await.1.len(), 1);
    }
    let notices: Vec<String> = received.try_iter().collect();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("no leader of the cluster answers") && notices[0].contains(&left.endpoint()), "{notices:?}");
    assert_eq!(changes(&watched(&source, KeyRange::key("/k"), 1, 2).await).len(), 1);
    let status = source.status().await.unwrap();
    assert!(status.problems.iter().any(|problem| problem.contains("has no leader")), "{status:?}");
}

/// Where there is no change to wait for, a bounded watch ends all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_bounded_watch_ends_where_no_change_is_left() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    let source = open(config(&etcd, &pki));
    assert_eq!(source.span().await.unwrap().newest, Revision(1));
    assert!(watched(&source, KeyRange::all(), 1, 1).await.is_empty());

    let mut writer = etcd.writer().await;
    writer.put("/a", "1", None).await.unwrap();
    writer.put("/b", "1", None).await.unwrap();
    writer.compact(3, None).await.unwrap();
    assert_eq!(changes(&watched(&source, KeyRange::key("/b"), 3, 3).await).len(), 1);
    assert_eq!(changes(&watched(&source, KeyRange::key("/b"), 1, 3).await).len(), 1);
    writer.delete("/b", None).await.unwrap();
    writer.compact(4, None).await.unwrap();
    // Releases differ in whether they keep the deletion at the compacted revision itself; none hangs.
    for (keys, from) in [(KeyRange::key("/b"), 4), (KeyRange::key("/a"), 4), (KeyRange::all(), 1)] {
        let items = watched(&source, keys, from, 4).await;
        assert!(changes(&items).len() <= 1, "{items:?}");
    }
}

/// Leases show in what is read, and a lease's end deletes all its keys in one revision.
#[tokio::test(flavor = "multi_thread")]
async fn leased_keys_go_together() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    let mut writer = etcd.writer().await;
    let lease = writer.lease_grant(1000, None).await.unwrap().id();
    for key in ["/l/a", "/l/b"] {
        writer.put(key, "v", Some(PutOptions::new().with_lease(lease))).await.unwrap();
    }
    let source = open(config(&etcd, &pki));
    assert_eq!(listed(&source, KeyRange::key("/l/a"), At::Newest, Want::Keys).await.1[0].lease, lease);
    writer.lease_revoke(lease).await.unwrap();
    let items = watched(&source, KeyRange::prefix("/l/"), 4, 4).await;
    let mut keys: Vec<String> = changes(&items).into_iter().map(|change| change.3).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["/l/a", "/l/b"]);
}
