//! Opens the sources of a rehearsal: of a folder, an archive or several files that hold more than one backup the newest whole one, as one is restored.

use std::cmp::Reverse;

use ketcd_cluster::rehearse::is_restorable;
use ketcd_cluster::rights::Question;
use ketcd_store::{Checksum, PartStatus};

use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::history_window::Ends;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::note;
use crate::cli::session::Session;

/// The backup, and its name where it was chosen among several.
pub(super) struct OneBackup {
    pub session: Session,
    pub chosen: Option<String>,
}

/// Opens a source.
///
/// # Errors
/// It cannot be opened.
pub(super) async fn open(args: &GlobalArgs) -> Result<Session> {
    Session::with_problems_in_answer(args, &Ends::default())?.begun(&Question::Everything.reads()).await
}

/// Opens the backup that flags name. If there are several, the newest whole one is opened, and a line says so; if none is whole, the newest.
///
/// # Errors
/// It cannot be opened.
pub(super) async fn open_backup(args: &GlobalArgs) -> Result<OneBackup> {
    let session = open(args).await?;
    let parts = session.cluster.source.status().await?.parts;
    let mut backups: Vec<PartStatus> = parts.into_iter().filter(|part| is_restorable(part.kind)).collect();
    if backups.is_empty() {
        return Ok(OneBackup { session, chosen: None });
    }
    backups.sort_by_key(|part| Reverse(part.span.newest));
    let mut damaged: Vec<(String, Session)> = Vec::new();
    for part in &backups {
        let one = open(&GlobalArgs { files: vec![part.name.clone()], ..args.clone() }).await;
        let one = match one {
            Err(error) if error.is_damage() => continue,
            one => one?,
        };
        if !is_whole(&one).await? {
            damaged.push((part.name.clone(), one));
            continue;
        }
        if one.cluster.source.span().await?.newest != part.span.newest {
            return Err(of_several_files(&args.files.join(", "), part));
        }
        let newer = damaged.first().map(|(name, _)| format!("; {name} is newer, and damaged")).unwrap_or_default();
        note(&format!("{} is rehearsed, the newest whole one of {} backups{newer}", part.name, backups.len()));
        return Ok(OneBackup { session: one, chosen: Some(part.name.clone()) });
    }
    match damaged.into_iter().next() {
        Some((name, session)) => {
            note(&format!("{name} is rehearsed, the newest of {} backups, of which none is whole", backups.len()));
            Ok(OneBackup { session, chosen: Some(name) })
        }
        None => Ok(OneBackup { session, chosen: None }),
    }
}

/// Whether everything of a backup can be read, and its checksum holds where it has one.
async fn is_whole(session: &Session) -> Result<bool> {
    let source = &session.cluster.source;
    Ok(source.damage().is_empty() && !source.status().await?.checksums.contains(&Checksum::Fails))
}

/// The error of a backup that is more than the file that it is named after.
fn of_several_files(path: &str, part: &PartStatus) -> Error {
    Error::new(format!("{path} holds several backups, of which one can be restored"))
        .hint(format!("name one alone; the newest is {} with what follows it, up to revision {}", part.name, part.span.newest))
}
