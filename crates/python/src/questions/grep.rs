//! `grep`: which objects hold or ever held a value.

use ketcd_cluster::Cluster;
use ketcd_cluster::grep::{GrepQuestion, MAX_HELD_BYTES};
use ketcd_render::grep::{Form, GrepPrinter, MatchAmount};

use crate::asked::Asked;
use crate::failure::Failure;
use crate::lines::Lines;

/// What is found, value by value or object by object.
pub(super) async fn grep(cluster: &Cluster, asked: &Asked, lines: &mut Lines) -> Result<(), Failure> {
    let amount = if asked.objects { MatchAmount::Objects } else { MatchAmount::Values };
    cluster.note_reach().await?;
    let with_changes = amount == MatchAmount::Values;
    let question = GrepQuestion { search: asked.search()?, words: &asked.words, with_changes, max_held_bytes: MAX_HELD_BYTES };
    let (mut found, mut printer) = (cluster.grep(question).await?, GrepPrinter::new(Form::Lines, amount));
    while let Some(object) = found.next().await? {
        printer.write(&object, lines)?;
    }
    Ok(printer.finish(&found, None, lines)?)
}
