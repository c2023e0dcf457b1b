//! Changes as JSON, made on all cores, handed over and reported in their order.

use std::collections::HashSet;
use std::mem;

use bytes::Bytes;
use futures_util::TryStreamExt;

use ketcd_history::clock::Clock;
use ketcd_history::{AttributedChange, EventPair, PrevVersion, TextChange};
use ketcd_kube::{Body, Opaque, UnknownField};
use ketcd_store::{KeyValue, Revision};

use super::Result;
use super::absence::Missing;
use super::output::{Output, note};
use super::session::Session;
use ketcd_cluster::cores::in_order_beside;
use ketcd_cluster::kinds::KeySubject;
use ketcd_cluster::read::{Keys, Read, dated_steps};
use ketcd_render::change::{self, JsonOptions};
use ketcd_render::changes::Changes;

/// Maximum changes per batch.
const MOST: usize = 512;

/// Maximum stored bytes per batch.
const MOST_BYTES: usize = 4 << 20;

/// Fewer are not worth a thread.
const LEAST: usize = 16;

/// Writes all changes of `keys` as JSON: of each object no more is decoded than its text, and what differs from the version before.
///
/// # Errors
/// The source's, or the stream's.
pub(super) async fn write(
    session: &Session,
    keys: Keys,
    newest: Revision,
    missing: &mut Missing,
    told: &mut Changes,
    out: &mut Output,
) -> Result<()> {
    let (mut steps, clock) = dated_steps(session, keys, newest).await?;
    clock.problems().iter().for_each(|problem| note(problem));
    let (mut lines, after) = (Lines::new(session, &clock, told.json()), session.counted_after());
    let mut before = HashSet::new();
    let mut write = |made: Vec<Read<Line>>| {
        made.into_iter().try_for_each(|read| match read {
            Read::Gap { from, to } => {
                session.note_gap(from, to);
                Ok(())
            }
            Read::Item(line) => {
                missing.saw(&line.key);
                line.report(session);
                told.write_made(&line.json, out)
            }
        })
    };
    loop {
        let end = match steps.try_next().await {
            Ok(Some(Read::Gap { to, .. })) if to <= after => continue,
            Ok(Some(Read::Item(step))) if step.event.revision <= after => {
                before.insert(step.event.key_value.key);
                continue;
            }
            Ok(Some(read)) => match lines.take(read).await? {
                true => None,
                false => continue,
            },
            Ok(None) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        lines.turn(&mut write)?;
        if let Some(end) = end {
            lines.turn(&mut write)?;
            before.iter().for_each(|key| missing.saw(key));
            return Ok(end?);
        }
    }
}

/// A change's JSON, which nobody was told about yet.
struct Line {
    /// etcd's key.
    key: Bytes,
    /// The document, without a line end.
    json: Vec<u8>,
    /// What is to be reported of the values that were decoded.
    found: Vec<(i64, Result<Vec<UnknownField>, Opaque>)>,
}

impl Line {
    /// Reports what was found, now that it is its turn.
    fn report(&self, session: &Session) {
        self.found.iter().for_each(|(revision, found)| session.reporting_decoder.report(&self.key, *revision, found));
    }
}

/// Makes lines of changes, some at once.
struct Lines<'s> {
    session: &'s Session,
    clock: &'s Clock,
    options: JsonOptions,
    waiting: Vec<Read<(EventPair, KeySubject)>>,
    bytes: usize,
    made: Vec<Read<Line>>,
}

impl<'s> Lines<'s> {
    /// Dates changes by `clock`.
    fn new(session: &'s Session, clock: &'s Clock, options: JsonOptions) -> Self {
        Self { session, clock, options, waiting: Vec::new(), bytes: 0, made: Vec::new() }
    }

    /// Takes one more change. Returns whether it is time to [`Self::turn`].
    ///
    /// # Errors
    /// The kinds cannot be read.
    async fn take(&mut self, read: Read<EventPair>) -> Result<bool> {
        self.waiting.push(match read {
            Read::Gap { from, to } => Read::Gap { from, to },
            Read::Item(step) => {
                let before = if let PrevVersion::Version(last) = &step.prev { last.value.len() } else { 0 };
                self.bytes += before + step.event.key_value.value.len();
                let subject = self.session.subject_of(&step.event.key_value.key).await?;
                Read::Item((step, subject))
            }
        });
        Ok(self.waiting.len() >= MOST || self.bytes >= MOST_BYTES)
    }

    /// Makes lines of the changes that wait, while `write` gets those that were made before. Returns what it returns.
    fn turn<R>(&mut self, write: impl FnOnce(Vec<Read<Line>>) -> R) -> R {
        let (waiting, made) = (mem::take(&mut self.waiting), mem::take(&mut self.made));
        self.bytes = 0;
        let (clock, decoder, options) = (self.clock, &self.session.decoder, self.options);
        let line = |read: &Read<(EventPair, KeySubject)>| match read {
            Read::Gap { from, to } => Read::Gap { from: *from, to: *to },
            Read::Item((step, subject)) => Read::Item(line(step, subject, decoder, clock, options)),
        };
        let (made, written) = in_order_beside(&waiting, LEAST, line, || write(made));
        self.made = made;
        written
    }
}

fn line(step: &EventPair, subject: &KeySubject, decoder: &ketcd_kube::Decoder, clock: &Clock, options: JsonOptions) -> Line {
    let (key, mut json) = (step.event.key_value.key.clone(), Vec::with_capacity(step.event.key_value.value.len() * 2));
    if let Some(TextChange { change, text }) = step.decode_as_text(decoder, options.managed_fields) {
        change::append_json(&AttributedChange::new(change, clock), subject, text.as_deref(), options, &mut json);
        return Line { key, json, found: Vec::new() };
    }
    let mut found = Vec::new();
    let change = step.clone().decode(|KeyValue { key, value, mod_revision, .. }| {
        let decoded = decoder.decode(key, value, mod_revision.0);
        found.push((
            mod_revision.0,
            match &decoded.body {
                Body::Object(_) => Ok(decoded.unknown_fields),
                Body::Opaque(opaque) => Err(opaque.clone()),
            },
        ));
        decoded.body.into()
    });
    change::write_json(&AttributedChange::new(change, clock), subject, options, &mut json).expect("writing to memory");
    Line { key, json, found }
}
