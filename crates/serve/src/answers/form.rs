//! What the objects of an answer become: they stay as they are, or only their metadata is returned, or they are rows of a table.

use super::call::Call;
use super::table::Table;
use crate::data::Moment;
use crate::request::Shape;
use crate::wire::Result;

/// What objects become.
pub(crate) enum Form {
    /// They stay as they are.
    Objects,
    /// `PartialObjectMetadata`, of this version of meta.k8s.io.
    Metadata(&'static str),
    /// Rows of a table.
    Table(Box<Table>),
}

impl Form {
    /// What the objects of a moment become. The ages in a table are counted to it.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn of(call: &Call, moment: Moment) -> Result<Self> {
        Ok(match call.accepted.shape {
            Shape::Metadata(version) => Self::Metadata(version),
            Shape::Table(version) => {
                let (release, now) = (call.app.data.release(), call.app.time_of(moment).await?);
                Self::Table(Box::new(Table::new(&call.resource, release, call.params.include, version, now)))
            }
            // Only documents of discovery are written in the last shape.
            Shape::Object | Shape::Discovery(_) => Self::Objects,
        })
    }
}
