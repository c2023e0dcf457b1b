//! Finds, of more objects than a page has room for, those that have a story: one pass over the history that decodes the few fields that show it.

mod sightings;

use std::convert::Infallible;
use std::pin::pin;

use futures_util::StreamExt;

use ketcd_kube::FieldSet;
use ketcd_scheduler::cluster::prefetch;
use ketcd_store::{At, Event, EventKind, Until};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::{Keys, Read, events};
use sightings::{Sighting, SightingReader, Survey};

pub use sightings::{MAX_OBJECT_ROWS, RowSelection, Unlisted};

/// How many changes are read at once, if that many are at hand.
const CHUNK_CHANGES: usize = 16_384;

impl Cluster {
    /// Chooses the objects that have a story; `None` where there are so few that all get a row.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn survey(&self, keys: &Keys, is_asked: impl Fn(&[u8]) -> bool) -> Result<Option<RowSelection>> {
        if self.are_few(keys).await? {
            return Ok(None);
        }
        let mut survey = Survey::default();
        let fields = Survey::fields();
        let mut chunks = pin!(events(self, keys.clone(), Until::Revision(self.revision().await?)).ready_chunks(CHUNK_CHANGES));
        while let Some(chunk) = chunks.next().await {
            let mut events = Vec::with_capacity(chunk.len());
            for read in chunk {
                match read? {
                    Read::Item(event) if is_asked(&event.key_value.key) => events.push(event),
                    Read::Item(_) | Read::Gap { .. } => {}
                }
            }
            let reader = survey.reader();
            let taken: Result<(), Infallible> = prefetch(
                &events,
                |event| sighting(self, &reader, &fields, event),
                |sighting| {
                    survey.note(sighting);
                    Ok(())
                },
            );
            let Ok(()) = taken;
        }
        Ok(survey.select())
    }

    /// Whether there are few objects for certain: no more than are there at the end and were ever deleted.
    async fn are_few(&self, keys: &Keys) -> Result<bool> {
        let newest = self.revision().await?;
        let mut most = (newest.0 - self.source.span().await?.oldest.0) as u64;
        for range in keys.apart() {
            if most > MAX_OBJECT_ROWS as u64 {
                break;
            }
            most += self.source.count(range, At::Revision(newest)).await?;
        }
        Ok(most <= MAX_OBJECT_ROWS as u64)
    }
}

fn sighting(cluster: &Cluster, reader: &SightingReader, fields: &FieldSet, event: &Event) -> Option<Sighting> {
    let entry = &event.key_value;
    if event.kind == EventKind::Delete {
        return Some(reader.sighting(&entry.key, false, None));
    }
    let decoded = cluster.reporting_decoder.only(fields).decode(&entry.key, &entry.value, entry.mod_revision.0);
    decoded.object().map(|object| reader.sighting(&entry.key, entry.version == 1, Some(object)))
}
