//! A model of what a recorder promises: however a history is cut into batches, whenever it is flushed, killed or refused by the disk, what is read back
//! is what happened, up to where the recorder said that it has come, and nothing is claimed that is not there.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use proptest::prelude::*;
use tempfile::TempDir;

use super::faults::{Fault, inject};
use super::{MissingRevisions, Recorder, RecorderOptions, RecordingScope, RecordingSource};
use crate::{
    Arrival, Arrivals, At, Event, EventKind, KeyRange, KeyValue, LateDamage, Origin, Result, Revision, Source, Sources, Until, Want,
    WatchItem,
};

/// What is done with the recorder.
#[derive(Clone, Debug)]
enum RecorderStep {
    /// This many changes come, and more may follow at once.
    Take(usize),
    /// Changes come up to the end of a revision, and the watch pauses.
    Pause(usize),
    /// The same, and the watch says how far it is.
    Progress(usize),
    /// The timer fires.
    Flush,
    /// This many revisions are compacted.
    Compact(i64),
    /// A state is written if one is wanted.
    State,
    /// The recorder is killed.
    Kill,
    /// The disk refuses something soon, and the recorder ends there as the command does.
    Fault(Fault),
}

fn step() -> impl Strategy<Value = RecorderStep> {
    let count = prop_oneof![4 => 1..40_usize, 2 => 95..105_usize, 1 => 995..1005_usize];
    let fault = (0..14_usize, 0..400_usize, prop_oneof![Just(1), Just(2), Just(usize::MAX)]);
    prop_oneof![
        6 => count.clone().prop_map(RecorderStep::Take),
        4 => count.clone().prop_map(RecorderStep::Pause),
        2 => count.prop_map(RecorderStep::Progress),
        4 => Just(RecorderStep::Flush),
        1 => (1..30_i64).prop_map(RecorderStep::Compact),
        2 => Just(RecorderStep::State),
        2 => Just(RecorderStep::Kill),
        3 => fault.prop_map(|(after, written, lasts)| RecorderStep::Fault(Fault { after, written, lasts })),
    ]
}

/// Revisions of this many changes each.
pub(super) fn widths() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(prop_oneof![12 => Just(1_usize), 4 => 2..6_usize, 1 => 90..120_usize, 1 => 900..1100_usize], 40..160)
}

/// The changes of revisions from 2 on. Each changes keys of its own, ascending.
pub(super) fn history(widths: &[usize]) -> Vec<Event> {
    let mut alive: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
    let mut events = Vec::new();
    for (number, &width) in widths.iter().enumerate() {
        let revision = number as i64 + 2;
        for sub in 0..width {
            let key = if width == 1 { number * 7 % 23 } else { sub };
            let is_deletion = (revision as usize + key).is_multiple_of(5) && alive.contains_key(&key);
            let (create, version) = match alive.get(&key) {
                _ if is_deletion => (0, 0),
                Some(&(create, version)) => (create, version + 1),
                None => (revision, 1),
            };
            if is_deletion {
                alive.remove(&key)
            } else {
                alive.insert(key, (create, version))
            };
            let length = if (number + sub).is_multiple_of(997) { 400_000 } else { number % 40 };
            let key_value = KeyValue {
                key: Bytes::from(format!("/registry/pods/lab/pod-{key:04}")),
                value: if is_deletion { Bytes::new() } else { format!("{revision} ").repeat(length).into() },
                create_revision: Revision(create),
                mod_revision: Revision(revision),
                version,
                replaced: Revision(0),
                lease: 0,
            };
            let kind = if is_deletion { EventKind::Delete } else { EventKind::Put };
            let (origin, sources) = (Origin::Recording, Sources::default());
            events.push(Event { revision: Revision(revision), sub_revision: sub as i64, kind, key_value, origin, sources });
        }
    }
    events
}

/// When a revision arrives, and how long before it was committed at most: several arrive at once, and of some that is not known.
fn arrival(revision: i64) -> (u64, Option<u64>) {
    let together = revision.cast_unsigned() / 3;
    (1_795_000_000_000_000 + together * 1000, (!together.is_multiple_of(7)).then_some(together % 50))
}

/// Whether a change is recorded: others are passed over.
fn is_recorded(event: &Event) -> bool {
    !event.key_value.key.ends_with(b"3")
}

fn alive(history: &[Event], at: i64) -> Vec<KeyValue> {
    let mut alive = BTreeMap::new();
    for event in history.iter().filter(|event| event.revision.0 <= at && is_recorded(event)) {
        match event.kind {
            EventKind::Put => drop(alive.insert(event.key_value.key.clone(), event.key_value.clone())),
            EventKind::Delete => drop(alive.remove(&event.key_value.key)),
        }
    }
    alive.into_values().collect()
}

struct Model<'a> {
    history: &'a [Event],
    directory: TempDir,
    recorder: Option<Recorder>,
    /// The next change that comes.
    next: usize,
    /// What the recorder said last that it has.
    confirmed: i64,
    /// Runs of revisions that were compacted away.
    gaps: Vec<(i64, i64)>,
}

impl<'a> Model<'a> {
    fn new(history: &'a [Event]) -> Self {
        inject(None);
        let shm = Path::new("/dev/shm");
        let directory = if shm.is_dir() { TempDir::new_in(shm) } else { TempDir::new() }.unwrap();
        let mut model = Self { history, directory, recorder: None, next: 0, confirmed: 1, gaps: Vec::new() };
        model.start();
        model
    }

    /// Starts a recorder where none runs, and lets it go on where the last one stopped.
    fn start(&mut self) {
        inject(None);
        let scope = RecordingScope { cluster_id: Some("1234".to_owned()), ..RecordingScope::default() };
        let options = RecorderOptions { file_bytes: 3000, ..RecorderOptions::default() };
        let mut recorder = Recorder::open(self.directory.path(), &scope, options).unwrap();
        assert_eq!(recorder.problems(), [""; 0]);
        match recorder.reached() {
            None => recorder.begin_after(Revision(1)),
            Some(reached) => assert!(reached.0 >= self.confirmed, "{reached} is on the disk, {} was confirmed", self.confirmed),
        }
        let reached = recorder.reached().unwrap();
        self.next = self.history.iter().position(|event| event.revision > reached).unwrap_or(self.history.len());
        self.recorder = Some(recorder);
        self.note();
    }

    fn note(&mut self) {
        let reached = self.recorder.as_ref().and_then(Recorder::reached).unwrap().0;
        assert!(reached >= self.confirmed);
        self.confirmed = reached;
    }

    fn take(&mut self, count: usize) -> Result<()> {
        let recorder = self.recorder.as_mut().unwrap();
        for event in self.history.iter().skip(self.next).take(count) {
            self.next += 1;
            let (time, delay) = arrival(event.revision.0);
            recorder.arriving(UNIX_EPOCH + Duration::from_micros(time), delay.map(Duration::from_micros));
            recorder.complete(event.revision.before())?;
            if is_recorded(event) { recorder.change(event)? } else { recorder.pass_over(event.revision)? }
        }
        Ok(())
    }

    /// Takes changes up to the end of a revision, which is returned.
    fn take_whole(&mut self, count: usize) -> Result<Option<Revision>> {
        let end = (self.next + count).min(self.history.len());
        let Some(last) = end.checked_sub(1).map(|last| self.history[last].revision) else { return Ok(None) };
        let rest = self.history[end..].iter().take_while(|event| event.revision == last).count();
        self.take(end + rest - self.next)?;
        Ok(Some(last))
    }

    fn act(&mut self, step: &RecorderStep) -> Result<()> {
        match step {
            RecorderStep::Take(count) => self.take(*count)?,
            RecorderStep::Pause(count) => {
                self.take_whole(*count)?;
                self.recorder.as_mut().unwrap().pause()?;
            }
            RecorderStep::Progress(count) => {
                if let Some(upto) = self.take_whole(*count)? {
                    self.recorder.as_mut().unwrap().complete(upto)?;
                }
            }
            RecorderStep::Flush => self.recorder.as_mut().unwrap().flush()?,
            RecorderStep::Compact(count) => self.compact(*count)?,
            RecorderStep::State => self.state()?,
            RecorderStep::Kill | RecorderStep::Fault(_) => {}
        }
        Ok(())
    }

    fn compact(&mut self, count: i64) -> Result<()> {
        let Some(last) = self.take_whole(0)? else { return Ok(()) };
        let end = self.history.last().unwrap().revision.0;
        let (from, to) = (last.0 + 1, (last.0 + count).min(end));
        if to < from {
            return Ok(());
        }
        self.next = self.history.iter().position(|event| event.revision.0 > to).unwrap_or(self.history.len());
        // It may be on the disk though the recorder could not say so.
        self.gaps.push((from, to));
        self.recorder.as_mut().unwrap().missing(MissingRevisions { from, to, reason: "compacted".to_owned() })
    }

    fn state(&mut self) -> Result<()> {
        let recorder = self.recorder.as_mut().unwrap();
        let Some((_, at)) = recorder.wanted_state() else { return Ok(()) };
        recorder.begin_state(at)?;
        alive(self.history, at.0).iter().try_for_each(|entry| recorder.state_entry(entry))?;
        recorder.end_state()
    }

    /// Does a step. A recorder that fails is ended as the command ends it.
    fn step(&mut self, step: &RecorderStep) {
        match step {
            RecorderStep::Fault(fault) => inject(Some(*fault)),
            RecorderStep::Kill => {
                self.recorder = None;
                self.start();
                self.hold();
            }
            step => match self.act(step) {
                Ok(()) => self.note(),
                Err(_) => {
                    let _ = self.recorder.as_mut().unwrap().flush();
                    self.note();
                    self.recorder = None;
                    self.hold();
                    self.start();
                    self.hold();
                }
            },
        }
    }

    /// What is read is what happened.
    fn hold(&self) {
        let source = match RecordingSource::open(self.directory.path().to_str().unwrap()) {
            Ok(source) => source,
            Err(error) => return assert_eq!((self.confirmed, error.to_string().contains("nothing is recorded yet")), (1, true), "{error}"),
        };
        let newest = source.span().now_or_never().unwrap().unwrap().newest.0;
        let is_in_gap = |revision: i64| self.gaps.iter().any(|&(from, to)| (from..=to).contains(&revision));
        assert!((newest + 1..=self.confirmed).all(is_in_gap), "{newest} can be read, {} was confirmed", self.confirmed);
        let items: Vec<WatchItem> =
            source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect::<Vec<_>>().now_or_never().unwrap();
        let mut events = Vec::new();
        for item in items {
            match item {
                WatchItem::Event(event) if !is_in_gap(event.revision.0) => events.push(event),
                WatchItem::Gap { from, to } => assert!((from.0..=to.0).all(is_in_gap), "revisions {from} to {to} are a gap"),
                WatchItem::Event(_) | WatchItem::Progress(_) => {}
            }
        }
        let expected = self.history.iter().filter(|event| event.revision.0 <= newest && is_recorded(event) && !is_in_gap(event.revision.0));
        let wrong = events.iter().map(Some).chain([None]).zip(expected.map(Some).chain([None])).find(|(one, other)| one != other);
        assert_eq!(wrong, None, "up to {newest}");
        self.hold_arrivals(&source, newest);
        let keys = KeyRange::key("/registry/pods/lab/pod-0007");
        for at in [newest / 3, newest / 2, newest] {
            let Ok(listing) = source.range(KeyRange::all(), At::Revision(Revision(at)), Want::Values).now_or_never().unwrap() else {
                continue;
            };
            let read: Vec<KeyValue> = listing.entries.try_collect().now_or_never().unwrap().unwrap();
            assert!(read == alive(self.history, at), "what is alive at {at} is not what was written last");
            let of_key = source.range(keys.clone(), At::Revision(Revision(at)), Want::Values).now_or_never().unwrap().unwrap();
            let of_key: Vec<KeyValue> = of_key.entries.try_collect().now_or_never().unwrap().unwrap();
            assert!(of_key.iter().eq(read.iter().filter(|entry| keys.contains(&entry.key))));
        }
        assert_eq!((source.facts().damage, source.late_damage()), (&[][..], Vec::new()));
    }

    /// What is read of arrivals is when the revisions arrived: of all that were recorded, and of none that was not.
    fn hold_arrivals(&self, source: &RecordingSource, newest: i64) {
        let is_in_gap = |revision: i64| self.gaps.iter().any(|&(from, to)| (from..=to).contains(&revision));
        let read = source.arrivals(Revision(1), Revision(i64::MAX));
        let of = |arrival: Arrival| (arrival.from.0..=arrival.to.0).map(move |revision| (revision, (arrival.time, arrival.delay)));
        let read: Vec<_> = read.into_iter().flat_map(of).filter(|(revision, _)| !is_in_gap(*revision)).collect();
        let written = |revision: i64| {
            let (time, delay) = arrival(revision);
            Some((revision, (time.cast_signed(), delay?.cast_signed())))
        };
        let expected: Vec<_> = (2..=newest).filter(|revision| !is_in_gap(*revision)).filter_map(written).collect();
        assert_eq!(read, expected, "up to {newest}");
        let half = source.arrivals(Revision(newest / 2), Revision(newest / 2 + 1));
        assert!(half.iter().all(|arrival| arrival.from.0 >= newest / 2 && arrival.to.0 <= newest / 2 + 1), "{half:?}");
    }

    /// A quiet watch: all that came is recorded within a moment.
    fn end(mut self) {
        inject(None);
        self.step(&RecorderStep::Pause(usize::MAX / 2));
        self.step(&RecorderStep::Flush);
        self.hold();
        assert_eq!(self.confirmed, self.history.last().unwrap().revision.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_back_is_what_happened(widths in widths(), steps in proptest::collection::vec(step(), 1..60)) {
        let history = history(&widths);
        let mut model = Model::new(&history);
        for step in &steps {
            model.step(step);
        }
        model.end();
    }
}

#[test]
fn a_batch_of_any_size_and_a_timer_that_fires_behind_it_lose_nothing() {
    for count in (990..=1010).chain([1999, 2000, 2001]) {
        for width in [1, 3] {
            let history = history(&vec![width; count / width + 1]);
            let mut model = Model::new(&history);
            for rest in [0, 1] {
                model.step(&RecorderStep::Take(count - rest));
                model.step(&RecorderStep::Flush);
                model.step(&RecorderStep::Take(rest));
                model.step(&RecorderStep::Flush);
                model.hold();
            }
            model.step(&RecorderStep::Pause(0));
            model.step(&RecorderStep::Kill);
            model.end();
        }
    }
}

/// A third of the combinations, in which each number of writes before it meets each part that is written.
#[test]
fn a_disk_that_is_full_for_a_while_costs_nothing() {
    is_full_for_a_while(|place| place % 3 == 0);
}

#[test]
fn a_disk_that_is_full_at_any_moment_costs_nothing_nightly() {
    is_full_for_a_while(|_| true);
}

fn is_full_for_a_while(is_tried: impl Fn(usize) -> bool) {
    let history = history(&[1; 300]);
    for after in 0..40 {
        for (part, written) in [0, 1, 47, 48, 100, 10_000].into_iter().enumerate() {
            for (time, lasts) in [1, 2, 3, usize::MAX].into_iter().enumerate() {
                if !is_tried(after + part + time) {
                    continue;
                }
                let mut model = Model::new(&history);
                model.step(&RecorderStep::Pause(30));
                model.step(&RecorderStep::Flush);
                model.step(&RecorderStep::Fault(Fault { after, written, lasts }));
                for _ in 0..4 {
                    model.step(&RecorderStep::Pause(40));
                    model.step(&RecorderStep::Flush);
                    model.step(&RecorderStep::State);
                }
                model.end();
            }
        }
    }
}
