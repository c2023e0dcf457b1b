//! A model of what a bundle promises: however long and wide the history is, wherever revisions are missing, whatever the disk refuses and wherever the
//! file is cut off, a bundle that was finished reads as what was taken, and one that was not says so or is refused.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::faults::{Fault, inject};
use super::model::{history, widths};
use super::tests::{alive, items, range, scope};
use super::{BundleWriter, Bundled, MissingRevisions, RecordingSource, WrittenBetween};
use crate::{Arrivals, Event, KeyRange, LateDamage, Result, Revision, Source, WatchItem};

/// What comes of a history.
#[derive(Clone, Debug)]
enum BundleStep {
    /// This many revisions.
    Take(usize),
    /// This many revisions are missing, and a state follows.
    Gap(usize),
}

fn steps() -> impl Strategy<Value = Vec<BundleStep>> {
    let step = prop_oneof![5 => (1..60_usize).prop_map(BundleStep::Take), 1 => (1..30_usize).prop_map(BundleStep::Gap)];
    proptest::collection::vec(step, 1..12)
}

/// A slice of a history on its way into a bundle.
struct Slice<'h> {
    history: &'h [Event],
    from: i64,
    steps: &'h [BundleStep],
}

/// What was taken.
#[derive(Debug, Default, PartialEq)]
struct Taken {
    gaps: Vec<(i64, i64)>,
    upto: i64,
}

/// An archive's file that takes no more than so many bytes.
struct Full<'f> {
    file: &'f mut File,
    left: usize,
}

impl Write for Full<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.left);
        self.left -= taken;
        if taken == 0 && !bytes.is_empty() { Err(io::ErrorKind::StorageFull.into()) } else { self.file.write(&bytes[..taken]) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Revisions are written so long after 1970; of every seventh that is not known.
fn written(revision: i64) -> Option<WrittenBetween> {
    let earliest = 1_795_000_000_000_000 + revision * 1000;
    (revision % 7 != 0).then_some(WrittenBetween { earliest, latest: earliest + revision % 50 })
}

impl Slice<'_> {
    fn newest(&self) -> i64 {
        self.history.last().map_or(1, |event| event.revision.0)
    }

    /// What comes of it, if nothing fails.
    fn taken(&self) -> Taken {
        let mut taken = Taken { gaps: Vec::new(), upto: self.from };
        for step in self.steps {
            let (BundleStep::Take(count) | BundleStep::Gap(count)) = step;
            let upto = (taken.upto + *count as i64).min(self.newest());
            if matches!(step, BundleStep::Gap(_)) && upto > taken.upto {
                taken.gaps.push((taken.upto + 1, upto));
            }
            taken.upto = upto;
        }
        taken
    }

    /// Writes it as the command does, up to the first failure.
    fn write(&self, work: &Path, archive: &mut dyn Write) -> Result<Bundled> {
        let mut writer = BundleWriter::new(work, scope());
        let state = |writer: &mut BundleWriter, at: i64| -> Result<()> {
            writer.begin_state(Revision(at))?;
            alive(self.history, at).into_iter().try_for_each(|entry| writer.state_entry(entry))?;
            writer.end_state()
        };
        state(&mut writer, self.from)?;
        let mut at = self.from;
        for step in self.steps {
            let (BundleStep::Take(count) | BundleStep::Gap(count)) = step;
            let upto = (at + *count as i64).min(self.newest());
            if matches!(step, BundleStep::Take(_)) {
                let mut events = self.history.iter().filter(|event| (at + 1..=upto).contains(&event.revision.0));
                events.try_for_each(|event| writer.change(event.clone(), written(event.revision.0)))?;
            } else if upto > at {
                writer.missing(&MissingRevisions { from: at + 1, to: upto, reason: "compacted".to_owned() })?;
                state(&mut writer, upto)?;
            }
            at = upto;
        }
        writer.finish(Revision(at), archive)
    }

    /// What is read of a bundle that was finished is what was taken.
    fn hold(&self, path: &Path, bundled: Bundled) {
        let Taken { gaps, upto } = self.taken();
        let file = fs::read(path).unwrap();
        assert_eq!((bundled.bytes, &bundled.sha256[..]), (file.len() as u64, &Sha256::digest(&file)[..]));
        let source = opened(path).unwrap();
        let is_in_gap = |revision: i64| gaps.iter().any(|&(from, to)| (from..=to).contains(&revision));
        let (mut events, mut missing) = (Vec::new(), Vec::new());
        for item in items(&source, KeyRange::all(), self.from + 1) {
            match item {
                WatchItem::Event(event) if event.revision.0 > self.from && !is_in_gap(event.revision.0) => events.push(event),
                WatchItem::Gap { from, to } => missing.extend(from.0..=to.0),
                _ => {}
            }
        }
        let wanted: Vec<&Event> = self.history.iter().filter(|event| (self.from + 1..=upto).contains(&event.revision.0)).collect();
        let wanted: Vec<&Event> = wanted.into_iter().filter(|event| !is_in_gap(event.revision.0)).collect();
        assert!(events.iter().eq(wanted.iter().copied()), "the changes after {} up to {upto} are others", self.from);
        assert_eq!(bundled.changes as usize, wanted.len());
        assert!(missing.iter().all(|&revision| is_in_gap(revision)), "{missing:?} is not {gaps:?}");
        for at in [self.from, (self.from + upto) / 2, upto] {
            match range(&source, KeyRange::all(), at) {
                Ok(entries) => assert!(entries == alive(self.history, at), "what is alive at {at} is not what was written last"),
                Err(_) => assert!(is_in_gap(at), "{at} cannot be read"),
            }
        }
        let dates = source.arrivals(Revision(self.from + 1), Revision(i64::MAX));
        let dated = dates.iter().flat_map(|arrival| arrival.from.0..=arrival.to.0).collect::<Vec<_>>();
        let is_dated = |revision: &i64| !is_in_gap(*revision) && written(*revision).is_some();
        assert_eq!(dated, (self.from + 1..=upto).filter(is_dated).collect::<Vec<_>>());
        source.read_all();
        assert_eq!((source.facts().damage, source.late_damage()), (&[][..], Vec::new()));
    }

    /// Whether a change is one of the history; a state behind a gap does not hold its place in the revision.
    fn has_happened(&self, event: &Event) -> bool {
        let start = self.history.partition_point(|known| known.revision < event.revision);
        let mut of_revision = self.history[start..].iter().take_while(|known| known.revision == event.revision);
        of_revision.any(|known| known.kind == event.kind && known.key_value == event.key_value)
    }

    /// What is left of a bundle that was cut off is refused, or says so; what it shows is what happened.
    fn hold_cut(&self, path: &Path) {
        let Ok(source) = opened(path) else { return };
        for item in items(&source, KeyRange::all(), self.from + 1) {
            if let WatchItem::Event(event) = item {
                assert!(event.revision.0 <= self.from || self.has_happened(&event), "{event:?}");
            }
        }
        source.read_all();
        assert!(!source.facts().damage.is_empty() || !source.late_damage().is_empty(), "it looks whole");
    }
}

fn opened(path: &Path) -> Result<RecordingSource> {
    RecordingSource::open(path.to_str().unwrap())
}

/// A folder for one bundle, in memory where that is possible, with an empty one to work in.
fn folder() -> (TempDir, PathBuf, PathBuf) {
    let shm = Path::new("/dev/shm");
    let folder = if shm.is_dir() { TempDir::new_in(shm) } else { TempDir::new() }.unwrap();
    let (work, path) = (folder.path().join("work"), folder.path().join("it.ketcd"));
    fs::create_dir(&work).unwrap();
    (folder, work, path)
}

fn written_whole(slice: &Slice<'_>) -> (TempDir, PathBuf) {
    let (folder, work, path) = folder();
    let bundled = slice.write(&work, &mut File::create(&path).unwrap()).unwrap();
    slice.hold(&path, bundled);
    (folder, path)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_finished_bundle_is_what_was_taken_and_a_cut_one_says_so(
        widths in widths(),
        steps in steps(),
        from in 1..40_i64,
        cuts in proptest::collection::vec(0.0..1.0_f64, 4),
    ) {
        let history = history(&widths);
        let slice = Slice { history: &history, from, steps: &steps };
        let (_folder, path) = written_whole(&slice);
        // What is behind the last file's end is padding, and what ends an archive.
        let whole = fs::read(&path).unwrap();
        for cut in cuts {
            let length = ((whole.len() - 1536) as f64 * cut) as usize;
            File::options().write(true).open(&path).unwrap().set_len(length as u64).unwrap();
            slice.hold_cut(&path);
            fs::write(&path, &whole).unwrap();
        }
    }

    #[test]
    fn what_the_disk_refuses_is_an_error_or_costs_nothing(
        widths in widths(),
        steps in steps(),
        (after, part, lasts) in (0..20_usize, 0..400_usize, prop_oneof![Just(1), Just(2), Just(usize::MAX)]),
    ) {
        let history = history(&widths);
        let slice = Slice { history: &history, from: 1, steps: &steps };
        let (_folder, work, path) = folder();
        inject(Some(Fault { after, written: part, lasts }));
        let written = slice.write(&work, &mut File::create(&path).unwrap());
        inject(None);
        match written {
            Ok(bundled) => slice.hold(&path, bundled),
            // The command names no file of it.
            Err(_) => prop_assert!(!opened(&path).is_ok_and(|source| source.facts().damage.is_empty()), "it failed and looks whole"),
        }
    }
}

/// The archive's disk is full after any number of bytes.
#[test]
fn an_archive_that_cannot_be_written_is_an_error_at_any_byte() {
    let history = history(&[1, 1, 2, 1, 3, 1, 1, 1]);
    let steps = [BundleStep::Take(3), BundleStep::Gap(2), BundleStep::Take(3)];
    let slice = Slice { history: &history, from: 2, steps: &steps };
    let (_folder, path) = written_whole(&slice);
    let whole = fs::metadata(&path).unwrap().len() as usize;
    for left in (0..whole).step_by(13).chain(whole - 8..whole) {
        let (_folder, work, path) = folder();
        let mut file = File::create(&path).unwrap();
        assert!(slice.write(&work, &mut Full { file: &mut file, left }).is_err(), "{left}");
        assert_eq!(file.metadata().unwrap().len() as usize, left);
    }
}

/// Around each number of changes and bytes at which a chunk, a block or a file ends.
#[test]
fn a_bundle_of_any_size_is_whole() {
    for count in (0..4).chain(998..1003).chain([1999, 2001, 5000]) {
        let history = history(&vec![1; count]);
        written_whole(&Slice { history: &history, from: 1, steps: &[BundleStep::Take(count)] });
    }
    for width in [1, 999, 1000, 1001, 2500] {
        let history = history(&[1, width, 1, width, 1]);
        written_whole(&Slice { history: &history, from: 2, steps: &[BundleStep::Take(1), BundleStep::Gap(1), BundleStep::Take(9)] });
    }
}
