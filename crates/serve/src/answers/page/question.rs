//! One question of the page: what it is answered from, the moments it names, and how its answer is written.

use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use jiff::Timestamp;
use ketcd_cluster::Error;
use ketcd_history::clock::Moment as MomentWords;
use ketcd_render::browser::{Cursor, View};
use ketcd_render::contract::browser::PageMoment;
use ketcd_store::{At, Revision};
use serde::Serialize;

use super::params::Query;
use crate::data::{BEFORE_ALL, Page, Stand};
use crate::wire::{Result, Status};

/// Bytes of one answer.
pub(super) const MAX_ANSWER_BYTES: usize = 4 << 20;

/// What an answer is made from.
pub(super) struct Asked<'a> {
    pub page: &'a Page,
    pub stand: &'a Arc<Stand>,
    pub query: &'a Query,
}

/// What every answer tells a browser: it runs nothing, is shown in no other page, and is kept nowhere.
pub(super) const ANSWER_HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// Adds headers to a response.
pub(super) fn with_headers(mut response: Response, headers: &[(&'static str, &'static str)]) -> Response {
    for (name, value) in headers {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

impl Asked<'_> {
    /// The command that shows a view as text.
    pub(super) fn command(&self, view: &View) -> String {
        view.command(&self.page.invocation).to_string()
    }

    /// Returns the moment that a parameter means; without it the one that was asked for when the server was started.
    pub(super) async fn moment(&self, name: &str) -> Result<PageMoment> {
        match self.query.get(name) {
            Some(text) => self.moment_of(name, text).await,
            None => self.default_moment().await,
        }
    }

    /// Names in a command the moment that a parameter means: by its time if it was asked for by one, as a report dates less and would find another revision.
    pub(super) fn cursor(&self, name: &str, found: Revision) -> Cursor {
        let time = self.query.get(name).and_then(|text| text.parse::<Timestamp>().ok());
        match time.filter(|_| !self.stand.cluster.source.is_one_moment()) {
            Some(time) => Cursor::Time(time),
            None => found.into(),
        }
    }

    /// Returns the moment that was asked for when the server was started.
    pub(super) async fn default_moment(&self) -> Result<PageMoment> {
        let served = self.page.served();
        match served.at() {
            At::Newest => self.dated(self.stand.newest).await,
            At::Revision(revision) => {
                let time = served.time_of(At::Revision(revision)).await?;
                Ok(PageMoment::new(revision, time))
            }
        }
    }

    /// Returns where the window begins: the revision after which changes count, and the moment.
    pub(super) async fn begin(&self, name: &str) -> Result<(Revision, PageMoment)> {
        match self.query.get(name) {
            Some(text) => {
                let moment = self.moment_of(name, text).await?;
                Ok((Revision(moment.revision), moment))
            }
            None => Ok((BEFORE_ALL, self.first().await?)),
        }
    }

    /// Returns the first readable revision, with the time of the first that has one.
    pub(super) async fn first(&self) -> Result<PageMoment> {
        let first = self.stand.index().await?.first;
        let clock = self.stand.clock().await?;
        let dated = clock.date(first).or_else(|| clock.dated_span().and_then(|(begin, _)| clock.date(begin)));
        Ok(PageMoment::dated(first, dated))
    }

    /// Returns a revision with its time.
    pub(super) async fn dated(&self, revision: Revision) -> Result<PageMoment> {
        if revision >= self.stand.newest {
            let time = self.stand.cluster.newest_time().await?;
            return Ok(PageMoment::new(self.stand.newest, time));
        }
        let clock = self.stand.cluster.clock_around(&[revision], &[]).await?;
        Ok(PageMoment::dated(revision, clock.date(revision)))
    }

    async fn moment_of(&self, name: &str, text: &str) -> Result<PageMoment> {
        let cluster = &self.stand.cluster;
        if cluster.source.is_one_moment() {
            return Ok(PageMoment::new(self.stand.newest, cluster.newest_time().await?));
        }
        if let Ok(revision) = text.strip_prefix('r').unwrap_or(text).parse::<i64>() {
            if revision > self.stand.newest.0 {
                return Err(Status::bad_request(format!(
                    "{name}: revision {revision} is in the future; the newest is {}",
                    self.stand.newest
                )));
            }
            return self.dated(Revision(revision.max(0))).await;
        }
        let words = text.parse::<MomentWords>();
        let words = words.map_err(|error| Status::bad_request(format!("{name}: {text:?} cannot be read as a moment: {error}")))?;
        let revision = cluster.revision_at(words).await?;
        let reference = cluster.reference_time().await?;
        let time: Option<Timestamp> = reference.and_then(|reference| words.resolve(reference));
        Ok(PageMoment::new(revision, time))
    }
}

/// An answer as JSON.
pub(super) fn written(answer: &impl Serialize) -> Result<Vec<u8>> {
    let text = serde_json::to_vec(answer).map_err(Status::internal)?;
    if text.len() > MAX_ANSWER_BYTES {
        return Err(Status::bad_request(format!(
            "the answer has {} bytes, more than the page takes ({MAX_ANSWER_BYTES}): ask for less",
            text.len()
        )));
    }
    Ok(text)
}

/// A failure to answer: what is not there is not found, and an address that cannot be read is a wrong question.
pub(super) fn failed(error: Error) -> Box<Status> {
    if error.is_nothing() {
        return Status::nothing(error.to_string());
    }
    match error {
        Error::Address(_) | Error::Undefined { .. } | Error::WithoutKind(_) | Error::NoKind => Status::bad_request(error.to_string()),
        other => other.into(),
    }
}
