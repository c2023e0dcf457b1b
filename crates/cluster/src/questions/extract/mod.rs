//! The objects that are to become manifests, all of one revision: those asked for, and what they own and refer to.

mod gathering;
mod manifests;
mod plan;
mod related;
mod target;
mod written;

use std::collections::{BTreeMap, BTreeSet};

use ketcd_restore::Switches;
use ketcd_restore::exclusions::Surroundings;
use ketcd_store::At;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::decoder;
use gathering::Gathering;

pub use gathering::{Gathered, GatheredObject, ManifestLeftOut, Targets, With};
pub use manifests::{Extraction, ExtractionSummary};
pub use plan::{Plan, Served, Target};
pub use written::{By, LastWritten};

impl Cluster {
    /// Reads what is asked for and what is to be added to it.
    ///
    /// # Errors
    /// A word that names no kind, or a source that cannot be read.
    pub async fn extract(&self, asked: &Targets<'_>, with: With, switches: &Switches) -> Result<Gathered> {
        self.extract_written(asked, with, switches, &LastWritten::default()).await
    }

    /// The same of objects by when they were written last and by whom; what is to be added to them is added no matter who wrote it.
    ///
    /// # Errors
    /// As there.
    pub async fn extract_written(&self, asked: &Targets<'_>, with: With, switches: &Switches, written: &LastWritten) -> Result<Gathered> {
        let at = match self.at {
            At::Newest => At::Revision(self.source.span().await?.newest),
            at @ At::Revision(_) => at,
        };
        let mut gathering = Gathering {
            cluster: self,
            at,
            switches,
            written,
            // Who wrote an object is in its managers, which no manifest has: a rule strips them.
            decoder: if written.takes_every_writer() { decoder(self) } else { self.reporting_decoder.clone() },
            around: Surroundings::default(),
            read: BTreeMap::new(),
            by_name: BTreeSet::new(),
            definitions: BTreeMap::new(),
            gathered: Gathered::default(),
        };
        match asked {
            Targets::Words(words) => gathering.words(words).await?,
            Targets::Everything => gathering.everything().await?,
        }
        gathering.look_around().await?;
        gathering.select().await?;
        gathering.add_related(with).await?;
        self.note_missed().await?;
        let definitions = gathering.definitions.into_values().flatten().collect();
        Ok(Gathered { definitions, ..gathering.gathered })
    }
}
