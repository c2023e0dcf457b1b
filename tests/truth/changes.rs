//! Changes told from what differs between the bytes of two versions, against changes of whole objects.

use std::path::Path;

use futures_util::TryStreamExt;
use ketcd_history::clock::StampCollector;
use ketcd_history::diff::ManagedFields;
use ketcd_history::{EventPair, Follower, ObjectVersion, PrevVersion, TextChange, actor};
use ketcd_kube::{Body, Decoder, Release};
use ketcd_store::{EventKind, KeyRange, KeyValue, Revision, Until, WatchItem};
use serde_json::Value;

fn steps(capture: &str) -> Vec<EventPair> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(capture).join("snapshot.db.zst");
    let source = ketcd_store::load::open(&[path.to_str().unwrap().to_owned()], &|_| None).unwrap();
    let mut follower = Follower::new(|_: &KeyValue| -> Body { unreachable!("steps are not decoded") });
    let items = source.watch(KeyRange::all(), Revision(1), Until::Forever);
    let items: Vec<WatchItem> = wait(items.try_collect()).unwrap();
    let events = items.into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None });
    events.map(|event| follower.pair(event)).collect()
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Compares the change of `step` with that of whole objects. Returns whether it could be told without them.
fn compare(step: &EventPair, decoder: &Decoder, managed_fields: ManagedFields, which: &str) -> bool {
    let mut unknown = 0;
    let whole = step.clone().decode(|KeyValue { key, value, mod_revision, .. }| {
        let decoded = decoder.decode(key, value, mod_revision.0);
        unknown += decoded.unknown_fields.len();
        decoded.body.into()
    });
    let Some(TextChange { change, text }) = step.decode_as_text(decoder, managed_fields) else { return false };
    assert_eq!(unknown, 0, "{which}: unknown fields go unreported");
    for version in [&whole.before, &whole.after] {
        assert!(!matches!(version, ObjectVersion::Opaque(_)), "{which}: damage goes unreported");
    }
    assert_eq!(actor(&change), actor(&whole), "{which}");
    assert_eq!(change.patch(managed_fields), whole.patch(managed_fields), "{which}");
    let mut object = whole.after.whole().map(|object| (**object).clone());
    if managed_fields == ManagedFields::Hidden {
        object.iter_mut().for_each(ketcd_kube::Object::remove_managed_fields);
    }
    let object = object.map(|object| serde_json::to_string::<Value>(&object).unwrap());
    assert_eq!(text.map(|text| String::from_utf8(text).unwrap()), object, "{which}");
    true
}

/// Compares all changes of captures, decoded in each of the ways that commands ask for.
fn are_alike(captures: &[&str]) {
    let (mut all, mut told) = (0, 0);
    for capture in captures {
        let release = Release(if capture.starts_with("k120") { 20 } else { 36 });
        for step in steps(capture) {
            let which = format!("{capture}, revision {}", step.event.revision);
            for decoder in [
                Decoder::new().with_release(release).showing_newer_fields(),
                Decoder::new().with_release(Release(22)).showing_secrets(true),
            ] {
                for managed_fields in [ManagedFields::Hidden, ManagedFields::Shown] {
                    all += 1;
                    told += usize::from(compare(&step, &decoder, managed_fields, &which));
                }
            }
        }
    }
    assert!(told > all / 4, "only {told} of {all} changes were told from their bytes");
}

#[test]
fn a_change_told_from_bytes_is_that_of_whole_objects() {
    are_alike(&["k120-story", "k136-cbor"]);
}

#[test]
fn a_change_told_from_bytes_is_that_of_whole_objects_in_every_capture_nightly() {
    are_alike(&["k120-random", "k136-random", "k136-story", "k136-clock", "k137-story", "matrix-1.24", "matrix-1.31"]);
}

/// The clock reads no more of objects than it looks at.
#[test]
fn a_clock_of_parts_is_that_of_whole_objects() {
    for capture in ["k120-story", "k136-story", "k136-clock"] {
        let (mut whole, mut part) = (StampCollector::default(), StampCollector::default());
        for step in steps(capture) {
            let KeyValue { key, value, mod_revision, version, .. } = &step.event.key_value;
            let is_put = step.event.kind == EventKind::Put;
            let (decoder, revision) = (Decoder::new(), step.event.revision);
            let object = is_put.then(|| decoder.decode(key, value, mod_revision.0));
            whole.observe(revision, key, *version == 1, object.as_ref().and_then(|decoded| decoded.object()));
            let object = is_put.then(|| decoder.only(StampCollector::looked_at()).decode(key, value, mod_revision.0));
            part.observe(revision, key, *version == 1, object.as_ref().and_then(|decoded| decoded.object()));
        }
        assert_eq!(format!("{:?}", part.finish()), format!("{:?}", whole.finish()), "{capture}");
    }
}

/// Damage and unknown fields are left to the decoding of whole objects, which reports them.
#[test]
fn what_is_damaged_is_not_told_from_bytes() {
    let steps = steps("k136-story");
    let (mut told, mut damaged) = (0, 0);
    for (number, step) in steps.iter().enumerate().filter(|(_, step)| step.event.kind == EventKind::Put).step_by(7) {
        for at in (1..12).map(|part| part * step.event.key_value.value.len() / 12) {
            let flip = |value: &KeyValue| {
                let mut bytes = value.value.to_vec();
                bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 0x15);
                KeyValue { value: bytes.into(), ..value.clone() }
            };
            let mut after = step.clone();
            after.event.key_value = flip(&after.event.key_value);
            let mut before = step.clone();
            if let PrevVersion::Version(last) = &before.prev {
                before.prev = PrevVersion::Version(flip(last));
            }
            for (step, side) in [(after, "after"), (before, "before")] {
                damaged += 1;
                told += usize::from(compare(&step, &Decoder::new(), ManagedFields::Hidden, &format!("step {number}, byte {at}, {side}")));
            }
        }
    }
    assert!(told > 0 && told < damaged, "{told} of {damaged}");
}
