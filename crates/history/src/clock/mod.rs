//! The clock: dates revisions, which carry no time, from the timestamps that lie in the data.
//!
//! Every timestamp that a writer puts down is a lower bound for the revision that brings it: the write came after it. Where the writer
//! stamps the very moment of its write (the API server's creationTimestamp and managedFields times, a renewed lease, the taint of a silent node), it is
//! an upper bound too, a small lag later. So is the time at which a recorder that followed etcd received a revision: it was committed before, and not longer
//! before than a round trip. As time never runs backwards along revisions, each revision lies between the highest lower bound up to
//! it and the lowest upper bound from it on. Its time is the middle of that interval, its error half the width.
//!
//! The API server's clock is the reference. A writer whose stamps no lag can reconcile with it has a skewed clock: it is reported, and its stamps are
//! ignored.

mod evidence;
mod live;
mod moment;
mod newest;
mod reference;
mod requests;
mod stamp;
mod steps;
mod writers;

use jiff::Timestamp;

use super::leases::Leases;
use ketcd_store::{Arrival, Revision};

pub use evidence::StampCollector;
pub use live::LiveClock;
pub use moment::{Bound, Moment, ParseBoundError, ParseMomentError, duration};
pub use newest::newest_stamp;
pub use writers::Skew;

use requests::Requests;
use stamp::{MICROS_PER_SECOND, Micros, Stamp};
use steps::Steps;

/// When a revision was written: within `error` of `time`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dated {
    /// The middle of the interval in which the write must have happened, to the millisecond.
    pub time: Timestamp,
    /// Half the interval's width, in seconds.
    pub error: f64,
}

/// When a revision arrived at a recorder, by the recorder's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrived {
    /// When.
    pub time: Timestamp,
    /// How long before that it was committed at most, in seconds.
    pub delay: f64,
}

/// Dates revisions. Made from [`StampCollector`]; times never run backwards.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    earliest: Steps,
    latest: Steps,
    skews: Vec<Skew>,
    problems: Vec<String>,
    leases: Leases,
    /// When revisions arrived at a recorder, ascending.
    arrivals: Vec<Arrival>,
    requests: Requests,
}

impl Clock {
    /// Returns when `revision` was written; `None` where the data does not say, because nothing before it or nothing after it is dated.
    pub fn date(&self, revision: Revision) -> Option<Dated> {
        let (earliest, latest) = self.bounds(revision)?;
        Some(dated(earliest, latest))
    }

    /// Returns the first and the last moment at which `revision` can have been written, in microseconds since 1970: what [`Clock::date`] is the middle of.
    pub fn bounds(&self, revision: Revision) -> Option<(i64, i64)> {
        let earliest = self.earliest.at_or_before(revision.0);
        self.requests.narrow(revision.0, earliest.zip(self.latest.at_or_after(revision.0)))
    }

    /// Returns the newest revision written at or before `time`, by the middle of its interval; `None` if the clock begins later.
    pub fn revision_at(&self, time: Timestamp) -> Option<Revision> {
        let (first, last) = self.dated_span()?;
        let before = |revision: i64| self.date(Revision(revision)).is_some_and(|dated| dated.time <= time);
        if !before(first.0) {
            return None;
        }
        let (mut low, mut high) = (first.0, last.0 + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if before(middle) { low = middle } else { high = middle }
        }
        Some(Revision(low))
    }

    /// The first and last revision that can be dated.
    pub fn dated_span(&self) -> Option<(Revision, Revision)> {
        let of_data = self.earliest.first().zip(self.latest.last());
        let (first, last) = self.requests.widen(of_data)?;
        (first <= last).then_some((Revision(first), Revision(last)))
    }

    /// The time of the newest revision that can be dated.
    pub fn newest(&self) -> Option<Dated> {
        self.date(self.dated_span()?.1)
    }

    /// Writers whose clocks are off, the worst first.
    pub fn skews(&self) -> &[Skew] {
        &self.skews
    }

    /// The same clock with leases, which say who can have written at a revision.
    #[must_use]
    pub fn with_leases(self, leases: Leases) -> Self {
        Self { leases, ..self }
    }

    /// The same clock with what recorders noted of when revisions arrived, ascending.
    #[must_use]
    fn with_arrivals(self, arrivals: Vec<Arrival>) -> Self {
        Self { arrivals, ..self }
    }

    /// Returns when a revision arrived at a recorder; `None` where none noted it.
    pub fn arrived(&self, revision: Revision) -> Option<Arrived> {
        let behind = self.arrivals.partition_point(|arrival| arrival.from <= revision);
        let arrival = self.arrivals[..behind].last().filter(|arrival| revision <= arrival.to)?;
        Some(Arrived { time: Timestamp::from_microsecond(arrival.time).ok()?, delay: arrival.delay as f64 / MICROS_PER_SECOND as f64 })
    }

    /// What leases say about who can have written at a revision; nothing if none were read.
    pub fn leases(&self) -> &Leases {
        &self.leases
    }

    /// What is odd about the data's times, skewed clocks included, a sentence each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

/// Makes the clock from all stamps, which are in order of revisions.
fn build(stamps: &[Stamp], names: &[String]) -> Clock {
    let chain = reference::chain(stamps);
    let (earliest, latest) = envelope(stamps.iter().zip(&chain).filter(|(_, kept)| **kept).map(|(stamp, _)| stamp));
    let writers = writers::evaluate(stamps, names, &earliest, &latest);
    let trusted =
        stamps.iter().zip(&chain).filter(|(stamp, kept)| if stamp.is_reference() { **kept } else { writers.may_use(stamp, &latest) });
    let (earliest, latest) = envelope(trusted.map(|(stamp, _)| stamp));
    let mut problems = reference::problems(stamps, &chain);
    problems.extend(writers.skews.iter().map(Skew::to_string));
    Clock {
        earliest,
        latest,
        skews: writers.skews,
        problems,
        leases: Leases::default(),
        arrivals: Vec::new(),
        requests: Requests::default(),
    }
}

/// The highest lower bounds going forward and the lowest upper bounds going backward. An upper bound below what is already certain is
/// a late write, not an early one: it is left out, so the two never cross.
fn envelope<'a>(stamps: impl Iterator<Item = &'a Stamp> + Clone) -> (Steps, Steps) {
    let mut earliest = Steps::default();
    stamps.clone().for_each(|stamp| earliest.raise(stamp.revision, stamp.at));
    let mut upper = Vec::new();
    for stamp in stamps {
        let certain = earliest.at_or_before(stamp.revision).unwrap_or(Micros::MIN);
        if let Some(latest) = stamp.latest().filter(|&latest| latest >= certain) {
            upper.push((stamp.revision, latest));
        }
    }
    (earliest, Steps::lowest_from_the_end(&upper))
}

fn dated(earliest: Micros, latest: Micros) -> Dated {
    let middle = (earliest + (latest - earliest) / 2).div_euclid(1000);
    let error = (latest - middle * 1000).max(middle * 1000 - earliest) as f64 / MICROS_PER_SECOND as f64;
    let time = Timestamp::from_millisecond(middle).unwrap_or(if middle < 0 { Timestamp::MIN } else { Timestamp::MAX });
    Dated { time, error: (error * 1000.0).ceil() / 1000.0 }
}

#[cfg(test)]
mod tests;
