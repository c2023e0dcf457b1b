//! `/ui/api/rows`: the objects of a window, grouped and filtered, each with its states and changes.

use std::collections::HashMap;

use ketcd_cluster::LabelSelector;
use ketcd_cluster::browser::{Asked as RowsAsked, Chosen, Counts, Grouping, Placed, choose};
use ketcd_render::browser::{FullRow, RowFilter, RowView, RowWords, View, merged, worst};
use ketcd_render::contract::browser::{PageCounts, PageGroup, PageMoment, PageRow, PageRowPlace, PageRows, PageState};
use ketcd_store::Revision;

use super::question::Asked;
use crate::wire::{Result, Status};

/// The most rows of one answer, and how many it has where nothing else is asked for.
const MAX_ROWS: usize = 500;
const DEFAULT_ROWS: usize = 200;
/// The most groups of one answer.
const MAX_GROUPS: usize = 1_000;
/// The most stretches of time with marks of their own.
const MAX_BUCKETS: usize = 4_000;
/// The most objects of a large cluster that are read for a filter.
const MAX_READ_FOR_FILTER: usize = 5_000;
/// Bytes of the rows of one answer, about.
const MAX_ROW_BYTES: usize = 3 << 20;

pub(super) async fn answer(asked: &Asked<'_>) -> Result<PageRows> {
    let ((after, from), to, at) = (asked.begin("from").await?, asked.moment("to").await?, asked.moment("at").await?);
    let view = view(asked, after, &from, &to, at.ms)?;
    let (mut question, filter) = question(asked, (after, Revision(to.revision))).await?;
    let index = asked.stand.index().await?;
    question.looked_at = match asked.query.get("object") {
        Some(_) => asked.subject(question.to).await.ok().map(|subject| subject.place),
        None => None,
    };
    let needs_families =
        asked.stand.is_small().await? || question.node.is_some() || matches!(question.grouping, Grouping::Owner | Grouping::Node);
    let families = if needs_families { Some(asked.stand.families().await?) } else { None };
    let chosen = choose(index, families, &question);
    let mut sight = Sight { asked, view, read: HashMap::new(), is_cut: false };
    let chosen = match filter {
        Some(filter) => sight.filtered(chosen, &filter).await?,
        None => chosen,
    };
    let within = asked.query.get("in").map(str::to_owned);
    let group = within.as_ref().map(|id| chosen.groups.iter().position(|group| group.id == *id));
    let (limit, offset) = (asked.query.number("limit", DEFAULT_ROWS, MAX_ROWS)?, asked.query.number("offset", 0, usize::MAX)?);
    // Only what is shown is put in order.
    let in_order = |group| chosen.in_order(index, families, group);
    let (total, of_group) = match group {
        Some(None) => (0, Vec::new()),
        Some(Some(group)) => (chosen.groups[group].rows, in_order(Some(group))),
        None if chosen.rows.len() <= limit => (chosen.rows.len(), in_order(None)),
        None => (chosen.rows.len(), Vec::new()),
    };
    let shown: Vec<Placed> = of_group.into_iter().skip(offset).take(limit).collect();
    let rows = sight.rows(&shown, &chosen).await?;
    let looked_at = question.looked_at.and_then(|life| chosen.rows.iter().find(|row| row.life == life));
    let found = looked_at.and_then(|row| {
        let index = in_order(Some(row.group)).iter().position(|other| other.life == row.life)?;
        Some(PageRowPlace { group: chosen.groups[row.group].id.clone(), index })
    });
    let groups_left = chosen.groups.len().saturating_sub(MAX_GROUPS);
    Ok(PageRows {
        command: asked.command(&as_text(asked, &question)),
        counts: counts(chosen.counts),
        found,
        from,
        group: question.grouping.as_str(),
        groups: sight.groups(&chosen).await?,
        groups_left,
        within,
        is_cut: sight.is_cut,
        offset,
        rows,
        to,
        total,
    })
}

/// The rows as text, as far as flags limit them.
fn as_text(asked: &Asked<'_>, question: &RowsAsked) -> View {
    let one = |all: &[String]| if let [one] = all { Some(one.clone()) } else { None };
    let node = question.node.clone().filter(|_| question.kinds == ["pod"]);
    let label = asked.query.get("label").map(str::to_owned);
    // What begins like a flag is not a kind, and must not become a word of a command.
    let kinds = question.kinds.iter().filter(|kind| !kind.starts_with('-')).cloned().collect();
    let only = RowWords { kinds, namespace: one(&question.namespaces), label, node };
    match question.revision.map(Revision) {
        Some(revision) => View::Rows(revision.before().into(), revision.into(), only),
        None => View::Rows(asked.cursor("from", question.after), asked.cursor("to", question.to), only),
    }
}

fn view(asked: &Asked<'_>, after: Revision, from: &PageMoment, to: &PageMoment, at_ms: Option<i64>) -> Result<RowView> {
    let buckets = asked.query.number("buckets", 1_000, MAX_BUCKETS)? as i64;
    Ok(RowView { after, to: Revision(to.revision), from_ms: from.ms, to_ms: to.ms, at_ms, buckets })
}

fn counts(Counts { objects, matching, filtered, quiet, deleted }: Counts) -> PageCounts {
    PageCounts { deleted, filtered, matching, objects, quiet }
}

/// What is asked for: as far as keys show it, and as far as objects must be read for it.
async fn question(asked: &Asked<'_>, (after, to): (Revision, Revision)) -> Result<(RowsAsked, Option<RowFilter>)> {
    let query = asked.query;
    let grouping = match query.get("group") {
        None => Grouping::default(),
        Some(word) => {
            Grouping::of(word).ok_or_else(|| Status::bad_request(format!("group: {word:?} is none of namespace, owner, node, none")))?
        }
    };
    let small = |text: Option<&str>| text.unwrap_or_default().to_lowercase();
    let words: Vec<String> = small(query.get("q")).split_whitespace().map(str::to_owned).collect();
    let labels =
        query.get("label").map(LabelSelector::parse).transpose().map_err(|error| Status::bad_request(format!("label: {error}")))?;
    // States are searched too where all are known.
    let is_small = asked.stand.is_small().await?;
    let filter = RowFilter {
        words: if is_small { words.clone() } else { Vec::new() },
        labels,
        image: small(query.get("image")),
        by: small(query.get("by")),
        message: small(query.get("message")),
        reason: small(query.get("reason")),
    };
    let texts = [&filter.image, &filter.by, &filter.message, &filter.reason];
    let reads = !filter.words.is_empty() || filter.labels.is_some() || texts.iter().any(|text| !text.is_empty());
    let revision = query.get("revision").map(|text| text.trim_start_matches('r').parse::<i64>()).transpose();
    let question = RowsAsked {
        after,
        to,
        grouping,
        words: if is_small { Vec::new() } else { words },
        kinds: query.list("kind").iter().map(|kind| kind.to_lowercase()).collect(),
        namespaces: query.list("namespace"),
        node: query.get("node").map(str::to_owned),
        revision: revision.map_err(|_| Status::bad_request("revision: not a whole number"))?,
        with_quiet: query.flag("quiet", false),
        with_deleted: query.flag("deleted", true),
        looked_at: None,
    };
    Ok((question, reads.then_some(filter)))
}

/// The rows in sight, as far as they were read.
struct Sight<'a> {
    asked: &'a Asked<'a>,
    view: RowView,
    read: HashMap<usize, FullRow>,
    is_cut: bool,
}

impl Sight<'_> {
    /// Reads what is not known of some objects.
    async fn read(&mut self, lives: &[usize]) -> Result<()> {
        if self.asked.stand.all_rows().await?.is_none() {
            let unread: Vec<usize> = lives.iter().copied().filter(|life| !self.read.contains_key(life)).collect();
            for part in unread.chunks(MAX_ROWS) {
                self.read.extend(self.asked.stand.rows_of(part, (self.view.after, self.view.to)).await?);
            }
        }
        Ok(())
    }

    /// What is known of an object; nothing where no version of it can be decoded.
    async fn full(&self, life: usize) -> Result<Option<&FullRow>> {
        if let Some(rows) = self.asked.stand.all_rows().await? {
            return Ok(rows.binary_search_by_key(&life, |(life, _)| *life).ok().map(|place| &rows[place].1));
        }
        Ok(self.read.get(&life))
    }

    /// Leaves out what a filter does not take.
    async fn filtered(&mut self, chosen: Chosen, filter: &RowFilter) -> Result<Chosen> {
        let mut rows = chosen.rows;
        if self.asked.stand.all_rows().await?.is_none() && rows.len() > MAX_READ_FOR_FILTER {
            self.is_cut = true;
            rows.truncate(MAX_READ_FOR_FILTER);
        }
        self.read(&rows.iter().map(|row| row.life).collect::<Vec<_>>()).await?;
        let mut groups = chosen.groups;
        groups.iter_mut().for_each(|group| (group.rows, group.changes) = (0, 0));
        let (index, before) = (self.asked.stand.index().await?, rows.len());
        let mut kept = Vec::new();
        let mut deleted = 0;
        for row in rows {
            if !self.full(row.life).await?.is_some_and(|full| full.is_taken(filter)) {
                continue;
            }
            let life = &index.lives[row.life];
            groups[row.group].rows += 1;
            groups[row.group].changes += life.within(self.view.after, self.view.to).len();
            deleted += usize::from(life.deleted.is_some_and(|deleted| deleted <= self.view.to.0));
            kept.push(row);
        }
        let places: Vec<Option<usize>> = groups
            .iter()
            .scan(0, |next, group| {
                let place = (group.rows > 0).then_some(*next);
                *next += usize::from(group.rows > 0);
                Some(place)
            })
            .collect();
        kept.iter_mut().for_each(|row| row.group = places[row.group].unwrap_or_default());
        groups.retain(|group| group.rows > 0);
        let hidden = before - kept.len();
        let counts = Counts { matching: kept.len(), filtered: chosen.counts.filtered + hidden, deleted, ..chosen.counts };
        Ok(Chosen { groups, rows: kept, counts })
    }

    /// The rows themselves, as many as an answer has room for.
    async fn rows(&mut self, shown: &[Placed], chosen: &Chosen) -> Result<Vec<PageRow>> {
        self.read(&shown.iter().map(|row| row.life).collect::<Vec<_>>()).await?;
        let (mut rows, mut room) = (Vec::with_capacity(shown.len()), MAX_ROW_BYTES);
        for placed in shown {
            let row = self.row(placed, chosen).await?;
            let size = merged(std::slice::from_ref(&row));
            if size > room {
                break;
            }
            room -= size;
            rows.push(row);
        }
        Ok(rows)
    }

    async fn row(&self, placed: &Placed, chosen: &Chosen) -> Result<PageRow> {
        let asked = self.asked;
        let life = &asked.stand.index().await?.lives[placed.life];
        let changes = life.within(self.view.after, self.view.to).len();
        let name = asked.name(placed.life).await?;
        let row = match self.full(placed.life).await? {
            Some(full) => full.row(name, changes, &self.view),
            None => PageRow { object: name, changes, vanished: life.is_vanished, ..PageRow::default() },
        };
        let owner = if asked.stand.is_small().await? { asked.stand.families().await?.of(placed.life).owner } else { None };
        let owner = match owner {
            Some(owner) => Some(asked.name(owner).await?.address),
            None => None,
        };
        Ok(PageRow { depth: placed.depth, owner, group: chosen.groups[placed.group].id.clone(), ..row })
    }

    /// The groups, with the worst of their states where all are known.
    async fn groups(&self, chosen: &Chosen) -> Result<Vec<PageGroup>> {
        let mut states: Vec<Vec<PageState>> = vec![Vec::new(); chosen.groups.len()];
        if self.asked.stand.all_rows().await?.is_some() {
            for row in &chosen.rows {
                states[row.group].extend(self.full(row.life).await?.and_then(|full| full.last_state(&self.view)));
            }
        }
        let group = |(group, states): (&ketcd_cluster::browser::RowGroup, &Vec<PageState>)| PageGroup {
            changes: group.changes,
            id: group.id.clone(),
            quiet: group.quiet,
            rows: group.rows,
            title: group.title.clone(),
            tone: worst(states),
        };
        Ok(chosen.groups.iter().zip(&states).take(MAX_GROUPS).map(group).collect())
    }
}
