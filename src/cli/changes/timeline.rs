//! `timeline`: tells the story of objects, that of a whole kind in parts, each forgotten once it is written.

use ketcd_cluster::read::Keys;
use ketcd_cluster::related::{MAX_CHANGES_AT_ONCE, StoryParts};
use ketcd_history::Logged;
use ketcd_history::diff::ManagedFields;
use ketcd_history::timeline::Story;
use ketcd_render::contract::window::HistoryWindow;
use ketcd_render::timeline::{PartLines, Told, json};
use ketcd_store::Revision;

use crate::cli::input::request_filter::ByArgs;
use crate::cli::input::time_span::Around;
use crate::cli::invocation::invocation;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::absence::{Missing, Search, note_nothing_of};

/// Whose story to tell, and how much of it.
pub(in crate::cli) struct StoryTeller<'a> {
    /// The cluster, and the format.
    pub session: &'a Session,
    /// What was asked for.
    pub asked: Keys,
    /// The words that asked for it.
    pub addresses: &'a [String],
    /// Whose changes count.
    pub by: &'a ByArgs,
    /// The time that counts.
    pub around: Option<Around>,
}

/// Takes what was done by some users alone; all where it is `None`.
type UserFilter<'a> = Option<&'a dyn Fn(Option<&Logged>) -> bool>;

impl StoryTeller<'_> {
    /// Tells the story.
    ///
    /// # Errors
    /// The source cannot be read, or the output not be written.
    pub(in crate::cli) async fn tell(&self, out: &mut Output) -> Result<Outcome> {
        let cluster = &self.session.cluster;
        let takes = |logged: Option<&Logged>| self.by.take(logged.map(|logged| &logged.request));
        let by: UserFilter<'_> = if self.by.take_all() { None } else { Some(&takes) };
        let oldest = cluster.source.span().await?.oldest;
        let keeps_changes = matches!(self.session.format, Format::Json | Format::Ndjson);
        match cluster.timeline_parts(&self.asked, keeps_changes, MAX_CHANGES_AT_ONCE).await? {
            Some(parts) => self.tell_parts(parts, by, oldest, out).await,
            None => self.tell_at_once(by, oldest, out).await,
        }
    }

    async fn tell_at_once(&self, by: UserFilter<'_>, oldest: Revision, out: &mut Output) -> Result<Outcome> {
        let Self { session, asked, .. } = self;
        let story = session.cluster.timeline(asked).await?;
        let told = self.told(&story, by, oldest);
        let mut missing = Missing::of(session, asked).await?;
        story.timelines.keys().for_each(|key| missing.saw(key));
        let is_missing = missing.report(session, &Search::up_to(session, "timeline").await?).await?;
        if told.subjects.is_empty() {
            if !is_missing {
                note_nothing_of(session, asked, &self.nothing()).await?;
            }
            return Ok(Outcome::Nothing);
        }
        let managed_fields = session.managed_fields();
        let is_told = match &session.format {
            Format::Table | Format::Wide => told.write_text(out.width(), out)?,
            Format::Ndjson => json::write_lines(&told, managed_fields, out)?,
            Format::Json => json::write_document(&told, session.window_in_head().await?, managed_fields, out)?,
            other => return Err(other.unsupported("timeline", FORMATS)),
        };
        self.note_end(is_told).await?;
        Ok(if is_told && !is_missing { Outcome::Found } else { Outcome::Nothing })
    }

    async fn tell_parts(&self, mut parts: StoryParts<'_>, by: UserFilter<'_>, oldest: Revision, out: &mut Output) -> Result<Outcome> {
        let Self { session, asked, .. } = self;
        let mut writer = PartWriter::of(&session.format)?;
        let mut has_subjects = false;
        while parts.next(|_| {}).await? {
            let told = self.told(parts.story(), by, oldest);
            has_subjects |= !told.subjects.is_empty();
            writer.write(&told, session.managed_fields(), out)?;
        }
        if !has_subjects {
            note_nothing_of(session, asked, &self.nothing()).await?;
            return Ok(Outcome::Nothing);
        }
        let is_told = writer.finish(session.window_in_head().await?, out)?;
        self.note_end(is_told).await?;
        Ok(if is_told { Outcome::Found } else { Outcome::Nothing })
    }

    /// A story, and how much of it to tell.
    fn told<'s>(&self, story: &'s Story, by: UserFilter<'s>, oldest: Revision) -> Told<'s> {
        let of_asked = story.timelines.iter().filter(|(key, _)| self.asked.contains(key));
        Told {
            story,
            subjects: of_asked.map(|(_, timeline)| timeline).collect(),
            many: self.asked.many,
            all: self.session.format == Format::Wide,
            after: self.session.cluster.counted_after(),
            around: self.around.map(|around| (around.center, around.window.as_secs_f64())),
            by,
            oldest,
            invocation: invocation(),
        }
    }

    /// What there is none of.
    fn nothing(&self) -> String {
        let by = self.by.whom().map(|whom| format!(" by {whom}")).unwrap_or_default();
        format!("no readable change{by}{}", self.around.map(Around::words).unwrap_or_default())
    }

    /// Says that there was nothing to tell, and what others did.
    async fn note_end(&self, is_told: bool) -> Result<()> {
        let Self { session, asked, .. } = self;
        if !is_told {
            note_nothing_of(session, asked, &self.nothing()).await?;
        }
        if !self.by.take_all() {
            let clock = session.cluster.clock_of_writers(&[], &[], &[]).await?;
            self.by.note_others(&session.cluster, (self.addresses, asked), &clock).await?;
        }
        Ok(())
    }
}

/// The formats of stories.
const FORMATS: &str = "table, json, ndjson";

/// What writes a story that comes in parts, by the format.
enum PartWriter {
    Text(PartLines),
    List(json::PartList),
    Lines { is_told: bool },
}

impl PartWriter {
    fn of(format: &Format) -> Result<Self> {
        match format {
            Format::Table | Format::Wide => Ok(Self::Text(PartLines::default())),
            Format::Json => Ok(Self::List(json::PartList::default())),
            Format::Ndjson => Ok(Self::Lines { is_told: false }),
            other => Err(other.unsupported("timeline", FORMATS)),
        }
    }

    fn write(&mut self, part: &Told<'_>, managed_fields: ManagedFields, out: &mut Output) -> Result<()> {
        match self {
            Self::Text(lines) => lines.add(part),
            Self::List(list) => list.write(part, managed_fields, out)?,
            Self::Lines { is_told } => *is_told |= json::write_lines(part, managed_fields, out)?,
        }
        Ok(())
    }

    /// Returns whether there was anything to tell.
    fn finish(self, window: Option<HistoryWindow>, out: &mut Output) -> Result<bool> {
        match self {
            Self::Text(lines) => Ok(lines.write_text(out.width(), out)?),
            Self::List(list) => Ok(list.finish(window, out)?),
            Self::Lines { is_told } => Ok(is_told),
        }
    }
}
