//! What an etcd answers: a server on loopback sends the messages of the input, whatever they are.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use ketcd_store::etcd::{EtcdConfig, EtcdSource};
use ketcd_store::{At, Event, Generations, KeyRange, KeyValue, Result, Revision, Shortcuts, Source, Until, Want, WatchItem};
use prost::Message;
use tonic::Status;

use ketcd_testing::fake_etcd::{Call, FakeEtcd, Messages, RangeRequest, Store, one, refusal, several};

/// The revision up to which changes are asked for.
const LAST_REVISION: Revision = Revision(9);
/// The newest revision that ketcd believes.
const NEWEST_REVISION: Revision = Revision(1 << 53);
const KEY_PREFIX: &str = "/k/";

/// A server's answers: messages with a byte that says what they answer and their length in two bytes. What is listed and what is watched must be
/// keys that were asked for, in order, of revisions that can be.
pub fn etcd_answers(data: &[u8]) {
    let server = server(&Script::read(data));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(async {
        let config = EtcdConfig { endpoints: vec![server.endpoint.clone()], ..EtcdConfig::default() };
        let source = EtcdSource::new(config, Arc::new(|_| ())).unwrap();
        tokio::time::timeout(Duration::from_secs(120), hold(&source)).await
    });
    assert!(ended.is_ok(), "the answers never end");
}

/// Messages by what they answer.
#[derive(Clone, Default)]
struct Script {
    ranges: VecDeque<Vec<u8>>,
    counts: VecDeque<Vec<u8>>,
    statuses: VecDeque<Vec<u8>>,
    /// Those of the first watch, and those of the second.
    watches: VecDeque<Vec<Vec<u8>>>,
}

impl Script {
    fn read(mut data: &[u8]) -> Self {
        let mut script = Self { watches: [Vec::new()].into(), ..Self::default() };
        while let [what, high, low, rest @ ..] = data {
            let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
            let (message, after) = rest.split_at(length);
            data = after;
            match what % 5 {
                0 => script.ranges.push_back(message.to_vec()),
                1 => script.watches.back_mut().into_iter().for_each(|messages| messages.push(message.to_vec())),
                2 => script.counts.push_back(message.to_vec()),
                3 => script.statuses.push_back(message.to_vec()),
                _ if script.watches.len() < 2 => script.watches.push_back(Vec::new()),
                _ => {}
            }
        }
        script
    }
}

/// Answers with what the script has, where it has nothing more with what an honest etcd counts, and with a refusal.
fn server(script: &Script) -> FakeEtcd {
    let script = Mutex::new(script.clone());
    let store = Store::new((2..=LAST_REVISION.0).map(|revision| (format!("{KEY_PREFIX}{revision}"), Vec::new())));
    FakeEtcd::start(move |Call { method, request, .. }| {
        let mut script = script.lock().unwrap();
        match method.as_str() {
            "Range" => {
                let asked = RangeRequest::decode(&request[..]).unwrap();
                match if asked.count_only { script.counts.pop_front() } else { script.ranges.pop_front() } {
                    Some(message) => several(vec![message]),
                    None if asked.count_only => one(&store.range(&asked)),
                    None => denied(),
                }
            }
            "Status" => script.statuses.pop_front().map_or_else(|| one(&store.status()), |message| several(vec![message])),
            "Watch" => several(script.watches.pop_front().unwrap_or_default()).chain(denied()).boxed(),
            _ => refusal(Status::unimplemented("unknown method")),
        }
    })
}

/// What ends a reading: no other member would say otherwise, nor this one later.
fn denied() -> Messages {
    refusal(Status::permission_denied("etcdserver: permission denied"))
}

async fn hold(source: &EtcdSource) {
    let keys = KeyRange::prefix(KEY_PREFIX);
    if let Ok(mut listing) = source.range(keys.clone(), At::Newest, Want::Values).await {
        assert!((Revision(1)..=NEWEST_REVISION).contains(&listing.revision), "{:?}", listing.revision);
        let mut last: Option<KeyValue> = None;
        while let Some(Ok(entry)) = listing.entries.next().await {
            assert!(last.is_none_or(|last| last.key < entry.key), "keys out of order");
            hold_version(&entry, &keys, listing.revision);
            last = Some(entry);
        }
    }
    hold_changes(source.watch(keys.clone(), Revision(1), Until::Revision(LAST_REVISION)), &keys).await;
    let key = KeyRange::key("/k/2");
    if let Ok(history) = source.key_history(key.start.clone(), LAST_REVISION, Generations::All(Vec::new())).await {
        hold_changes(history.items, &key).await;
    }
    if let Ok(span) = source.span().await {
        assert!(Revision(1) <= span.oldest && span.oldest <= span.newest && span.newest <= NEWEST_REVISION, "{span:?}");
    }
    let _ = source.status().await;
}

/// Changes, up to an error that there may be.
async fn hold_changes(mut items: BoxStream<'_, Result<WatchItem>>, keys: &KeyRange) {
    let mut last: Option<Event> = None;
    while let Some(Ok(item)) = items.next().await {
        match item {
            WatchItem::Event(event) => {
                let is_next = |last: Event| (last.revision, last.sub_revision) < (event.revision, event.sub_revision);
                assert!(last.is_none_or(is_next), "changes out of order");
                assert!(event.revision <= LAST_REVISION && event.revision == event.key_value.mod_revision, "{event:?}");
                match event.kind {
                    ketcd_store::EventKind::Put => hold_version(&event.key_value, keys, LAST_REVISION),
                    ketcd_store::EventKind::Delete => assert!(keys.contains(&event.key_value.key), "{event:?}"),
                    #[cfg(not(ketcd_exhaustive))]
                    _ => unreachable!("of another version"),
                }
                last = Some(event);
            }
            WatchItem::Gap { from, to } => assert!(Revision(1) <= from && from <= to && to <= LAST_REVISION, "{from} to {to}"),
            WatchItem::Progress(revision) => assert!(revision <= LAST_REVISION, "{revision}"),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
}

fn hold_version(version: &KeyValue, keys: &KeyRange, newest: Revision) {
    assert!(keys.contains(&version.key), "a key that was not asked for");
    assert!((Revision(1)..=newest).contains(&version.mod_revision), "{version:?}");
    assert!(
        (Revision(1)..=NEWEST_REVISION).contains(&version.create_revision) && (1..=NEWEST_REVISION.0).contains(&version.version),
        "{version:?}"
    );
}
