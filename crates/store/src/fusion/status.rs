//! The combined status of several sources.

use futures_util::StreamExt;

use super::Fused;
use super::part::PartState;
use crate::{KeyRange, Origin, PartStatus, Result, SourceKind, SourceStatus, WatchItem};

impl Fused {
    pub(super) async fn status_of_all(&self) -> Result<SourceStatus> {
        let mut status = self.begun().await?;
        let (mut unread, pooled) = (0, self.pool.opened());
        for (number, part) in self.parts.iter().enumerate() {
            let opened = pooled.iter().find(|(opened, _)| *opened == number).map(|(_, source)| source);
            let is_read = matches!(part.held, PartState::Open(_)) || opened.is_some();
            let source = match &part.held {
                PartState::Open(source) => Some(source.status().await?),
                PartState::Closed { bytes, .. } => {
                    status.file_bytes += if is_read { 0 } else { *bytes };
                    match opened {
                        Some(source) => Some(source.status().await?),
                        None => None,
                    }
                }
            };
            unread += usize::from(source.is_none());
            source.into_iter().for_each(|source| add(&mut status, source));
            let (name, kind, cluster_id, span) = (part.name.to_string(), part.kind, part.cluster_id.clone(), part.span);
            status.parts.push(PartStatus { name, kind, cluster_id, span, is_read });
        }
        if let Some(live) = &self.live {
            let (name, cluster_id) = (live.name.to_string(), status.cluster_id.clone());
            let span = live.source.span().await?;
            status.parts.push(PartStatus { name, kind: SourceKind::Live, cluster_id, span, is_read: true });
        }
        // What another source makes good is said with that.
        status.problems.retain(|problem| !self.notes.iter().any(|sentence| sentence.starts_with(problem.as_str())));
        let is_new = |sentence: &&String| ![&status.problems, &status.notes, &self.notes].iter().any(|known| known.contains(sentence));
        let problems: Vec<String> = self.damage.iter().chain(&self.left_out).filter(is_new).cloned().collect();
        status.problems.extend(problems);
        status.unfinished.extend(self.unfinished.iter().cloned());
        status.notes.extend(self.notes.iter().cloned());
        if unread == 0 {
            self.count_recoverable(&mut status).await?;
        } else {
            status.notes.push(format!(
                "{unread} of {} sources were not read: their damage, their pages in use and what could be recovered of them are not counted",
                status.parts.len()
            ));
        }
        Ok(status)
    }

    /// The status of the live etcd, or one that says nothing yet.
    async fn begun(&self) -> Result<SourceStatus> {
        if let Some(live) = &self.live {
            let status = live.checked(self).await?.status().await?;
            return Ok(SourceStatus { name: self.name(), gaps: self.gaps().to_vec(), ..status });
        }
        let kind = self.parts.first().map_or(SourceKind::Db, |part| part.kind);
        Ok(SourceStatus {
            cluster_id: self.parts.iter().find_map(|part| part.cluster_id.clone()),
            gaps: self.gaps().to_vec(),
            ..SourceStatus::new(kind, self.name())
        })
    }

    /// Counts the changes that no current page of any source holds.
    async fn count_recoverable(&self, status: &mut SourceStatus) -> Result<()> {
        let newest = self.span_of_files().newest;
        let mut items = self.watch_files(KeyRange::all(), 1, newest.0);
        while let Some(item) = items.next().await.transpose()? {
            match self.passing(item) {
                WatchItem::Event(event) if event.origin == Origin::FreePage => status.recoverable_freepage += 1,
                WatchItem::Event(event) if event.origin == Origin::Wal => status.recoverable_wal += 1,
                WatchItem::Event(event) if event.origin == Origin::OldValue => status.recoverable_old_value += 1,
                _ => {}
            }
        }
        Ok(())
    }
}

fn add(status: &mut SourceStatus, source: SourceStatus) {
    status.file_bytes += source.file_bytes;
    status.in_use_bytes += source.in_use_bytes;
    status.free_bytes += source.free_bytes;
    status.gaps.extend(source.gaps);
    status.checksums.extend(source.checksums);
    for member in source.members {
        if !status.members.iter().any(|known| known.id == member.id) {
            status.members.push(member);
        }
    }
    for alarm in source.alarms {
        if !status.alarms.contains(&alarm) {
            status.alarms.push(alarm);
        }
    }
    for phrase in source.not_recorded {
        if !status.not_recorded.contains(&phrase) {
            status.not_recorded.push(phrase);
        }
    }
    let named = |problem: String| if problem.starts_with(&source.name) { problem } else { format!("{}: {problem}", source.name) };
    status.problems.extend(source.problems.into_iter().map(named));
    status.unfinished.extend(source.unfinished.into_iter().map(named));
    status.notes.extend(source.notes.into_iter().map(named));
}
