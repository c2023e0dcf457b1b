//! The moment that ages are relative to: that of the revision read or, for objects without a history, their newest time.

use futures_util::StreamExt;
use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::rights::refused::unless_denied;
use ketcd_history::clock::Moment;
use ketcd_store::{self, At, KeyRange, KeyValue, Want};

/// Leases are renewed every few seconds: so long after the newest time in a live etcd, others may not be read.
const MAX_LEASE_DISTANCE: SignedDuration = SignedDuration::from_secs(60);

/// How many renewed leases show that objects were printed then; one alone may be of a node that was lost.
const MIN_RENEWED_LEASES: usize = 2;

impl Cluster {
    /// Returns the time of the revision looked at: now on a live etcd, `--at`'s, else what the newest heartbeat or event in it
    /// says; the whole history is dated only where there is neither. For objects without a history it is the newest time they carry. `None`
    /// if nothing readable shows it.
    ///
    /// # Errors
    /// The source cannot be read, or `--at` is given and nothing shows a time.
    pub async fn moment(&self) -> Result<Option<Timestamp>> {
        self.moment_of(self.at).await
    }

    /// Returns the time of a revision, as [`Cluster::moment`] does for the one looked at.
    ///
    /// # Errors
    /// As there.
    pub async fn moment_of(&self, at: At) -> Result<Option<Timestamp>> {
        if let Some(moment) = self.options.moment.filter(|_| at == self.at) {
            return self.asked_moment(moment).await.map(Some);
        }
        if self.source.is_one_moment() {
            return self.newest_time().await;
        }
        if self.source.is_shared() && at == At::Newest {
            return Ok(Some(Timestamp::now()));
        }
        // Its leases and Events are many then, and etcd reads all of their keys.
        if self.source.is_shared() && self.is_long().await? {
            return self.dated_moment(at).await;
        }
        match self.newest_sign(at).await? {
            Some(time) => Ok(Some(time)),
            None => self.dated_moment(at).await,
        }
    }

    /// Returns the moment looked at as [`Cluster::moment`] does, but of printed objects only where it is known: `--at` gives it, an API server answered
    /// just now, or leases in them were being renewed. The newest time in a few objects is of something that happened to them, not of their printing.
    ///
    /// # Errors
    /// As there.
    pub async fn known_moment(&self) -> Result<Option<Timestamp>> {
        if !self.source.is_one_moment() || self.options.moment.is_some() || self.options.is_present {
            return self.moment().await;
        }
        match self.newest_time().await? {
            Some(newest) if self.shows_renewals(newest).await? => Ok(Some(newest)),
            _ => Ok(None),
        }
    }

    /// Whether several leases were renewed within a minute of a time: their holders were at work then.
    async fn shows_renewals(&self, time: Timestamp) -> Result<bool> {
        let leases = KeyRange::prefix(format!("{}/leases/", self.prefix().await?));
        let Some(listing) = unless_denied(self.source.range(leases, self.at, Want::Values).await)? else { return Ok(false) };
        let mut entries = listing.entries;
        let mut renewed = 0;
        while let Some(lease) = entries.next().await.transpose()? {
            let lease = self.decoder.decode(&lease.key, &lease.value, lease.mod_revision.0);
            let renewal = lease.object().and_then(|lease| lease.pointer("/spec/renewTime")?.as_str()?.parse::<Timestamp>().ok());
            renewed += usize::from(renewal.is_some_and(|renewal| time.duration_since(renewal) <= MAX_LEASE_DISTANCE));
        }
        Ok(renewed >= MIN_RENEWED_LEASES)
    }

    /// Checks what `--rev` and `--at` ask of objects that are of one moment: `--at` says when that was, and changes nothing but ages.
    ///
    /// # Errors
    /// A revision that is not theirs.
    pub(crate) async fn check_one_moment(&self, asked: Option<Moment>) -> Result<()> {
        if let At::Revision(revision) = self.at
            && revision != self.source.span().await?.newest
        {
            return Err(ketcd_store::Error::OneMoment { asked: revision }.into());
        }
        let times = self.options.newest_stamp.and_then(|newest| Some((asked?.resolve(newest)?, newest)));
        if let Some((asked, newest)) = times.filter(|(asked, newest)| asked < newest) {
            self.note(Notice::MomentBeforeObjects { asked, newest });
        }
        Ok(())
    }

    async fn asked_moment(&self, moment: Moment) -> Result<Timestamp> {
        // Objects without times can only be addressed by a whole date, which does not depend on a reference time.
        let reference = self.reference_time().await?.or(self.source.is_one_moment().then_some(Timestamp::UNIX_EPOCH));
        let asked = reference.and_then(|reference| moment.resolve(reference));
        asked.ok_or(Error::Undated)
    }

    async fn dated_moment(&self, at: At) -> Result<Option<Timestamp>> {
        let newest = self.clock().await?.newest().map(|dated| dated.time);
        let At::Revision(revision) = at else { return Ok(newest) };
        let clock = self.clock_around(&[revision], &[]).await?;
        if let Some(dated) = clock.date(revision) {
            return Ok(Some(dated.time));
        }
        // What is newer than all that is dated is of about the newest time; of a live etcd, only where that is near now.
        let is_after = clock.dated_span().is_some_and(|(_, last)| revision > last);
        let is_near = |newest: &Timestamp| !self.source.is_shared() || Timestamp::now().duration_since(*newest) <= MAX_LEASE_DISTANCE;
        Ok(newest.filter(|newest| is_after && is_near(newest)))
    }

    /// The time of the lease renewed last or of the event that came last, whichever is later; none where leases may not be read, as events
    /// alone may be of long before. One value is decoded.
    async fn newest_sign(&self, at: At) -> Result<Option<Timestamp>> {
        let prefix = self.prefix().await?;
        let leases = format!("{prefix}/leases/");
        if !self.may_read(&KeyRange::prefix(leases.as_str())).await? {
            return Ok(None);
        }
        let lease = self.last_written(&leases, at, Want::Values, |_| true).await?;
        let renewed = lease.and_then(|lease| {
            let lease = self.decoder.decode(&lease.key, &lease.value, lease.mod_revision.0);
            lease.object()?.pointer("/spec/renewTime")?.as_str()?.parse().ok()
        });
        let event = self.last_written(&format!("{prefix}/events/"), at, Want::Keys, |event| event.version == 1).await?;
        Ok(renewed.max(event.and_then(|event| first_occurrence(&event.key))))
    }

    async fn last_written(&self, prefix: &str, at: At, want: Want, counts: impl Fn(&KeyValue) -> bool) -> Result<Option<KeyValue>> {
        let Some(listing) = unless_denied(self.source.range(KeyRange::prefix(prefix), at, want).await)? else { return Ok(None) };
        let mut entries = listing.entries;
        let mut last: Option<KeyValue> = None;
        while let Some(entry) = entries.next().await.transpose()? {
            if counts(&entry) && last.as_ref().is_none_or(|last| last.mod_revision < entry.mod_revision) {
                last = Some(entry);
            }
        }
        Ok(last)
    }
}

/// An event's name ends in the nanoseconds of its first occurrence since 1970, hexadecimal (client-go tools/record).
fn first_occurrence(key: &[u8]) -> Option<Timestamp> {
    let key = std::str::from_utf8(key).ok()?;
    let digits = key.rsplit_once('.')?.1;
    Timestamp::from_nanosecond(i128::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_events() {
        let time = |key: &str| first_occurrence(key.as_bytes()).map(|time| time.to_string());
        assert_eq!(time("/registry/events/shop/web-0.18e9de13dc2a9474").as_deref(), Some("2026-11-20T21:28:23.363376244Z"));
        assert_eq!(time("/registry/events/shop/web-0"), None);
        assert_eq!(time("/registry/events/shop/web-0.cafe"), None);
    }
}
