//! Many changes, one after the other: as text, as JSON a line each, or as one JSON document.

use std::io::{self, Write};

use jiff::Timestamp;

use super::change::JsonOptions;
use super::change_text::{ChangeWriter, Options};
use super::contract::request::RequestWithoutChange;
use super::contract::window::HistoryWindow;
use super::json;
use super::watch::{self, Beginning};
use crate::style::StyledWrite;
use ketcd_cluster::OtherRequest;
use ketcd_history::AttributedChange;
use ketcd_store::Revision;

/// What changes are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeForm {
    /// Text for people.
    Text(Options),
    /// A JSON document a line.
    Lines,
    /// One JSON document of all.
    Document,
}

/// Changes that are being written.
pub struct ChangesWriter {
    form: ChangeForm,
    text: Option<ChangeWriter>,
    json: JsonOptions,
    /// What stands before the first change of one document.
    head: String,
    written: usize,
}

impl ChangesWriter {
    /// Begins to write changes; nothing is written yet.
    pub fn new(form: ChangeForm, json: JsonOptions) -> Self {
        let text = if let ChangeForm::Text(options) = form { Some(ChangeWriter::new(options)) } else { None };
        Self { form, text, json, head: json::head_of_list(None), written: 0 }
    }

    /// Says in the head of one document of all which stretch of history was asked for.
    #[must_use]
    pub fn within(mut self, window: Option<HistoryWindow>) -> Self {
        self.head = json::head_of_list(window);
        self
    }

    /// How they are written as JSON.
    pub fn json(&self) -> JsonOptions {
        self.json
    }

    /// Whether they are text, which names objects as people do.
    pub fn are_text(&self) -> bool {
        self.text.is_some()
    }

    /// Writes what is there before the changes; nothing into one document of all changes.
    ///
    /// # Errors
    /// The stream's.
    pub fn begin(&mut self, beginning: &Beginning<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
        match self.form {
            ChangeForm::Text(_) => beginning.write_text(Timestamp::now(), out),
            ChangeForm::Lines => beginning.write_json(self.json.managed_fields, out),
            ChangeForm::Document => Ok(()),
        }
    }

    /// Writes missing revisions between the changes. Returns whether people see them there.
    ///
    /// # Errors
    /// The stream's.
    pub fn gap(&mut self, from: Revision, to: Revision, out: &mut dyn StyledWrite) -> io::Result<bool> {
        match self.form {
            ChangeForm::Text(_) => watch::write_gap_text(from, to, out)?,
            ChangeForm::Lines => watch::write_gap_json(from, to, out)?,
            ChangeForm::Document => {}
        }
        Ok(self.are_text())
    }

    /// Writes one change as text; `name` is what a person would type for its key.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_text(&mut self, attributed: &AttributedChange, name: &str, out: &mut dyn StyledWrite) -> io::Result<()> {
        if let Some(text) = &mut self.text {
            text.write(attributed, name, out)?;
            self.written += 1;
        }
        Ok(())
    }

    /// Writes a request that made no change; `name` is its object, where it is about one.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_request(&mut self, other: &OtherRequest, name: &str, out: &mut dyn StyledWrite) -> io::Result<()> {
        match &mut self.text {
            Some(text) => text.write_request(other, name, out)?,
            None => self.around(out, |out| Ok(serde_json::to_writer(out, &RequestWithoutChange::of(other))?))?,
        }
        self.written += 1;
        Ok(())
    }

    /// Writes a change as this JSON.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_json(&mut self, document: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.around(out, |out| out.write_all(document))?;
        self.written += 1;
        Ok(())
    }

    /// Writes the JSON of one change, with what stands around it.
    fn around(&self, out: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        match (self.form, self.written) {
            (ChangeForm::Document, 0) => writeln!(out, "{}", self.head)?,
            (ChangeForm::Document, _) => out.write_all(b",\n")?,
            _ => {}
        }
        write(out)?;
        out.write_all(if self.form == ChangeForm::Lines { b"\n" } else { b"" })
    }

    /// Ends the output and returns whether there was any change.
    ///
    /// # Errors
    /// The stream's.
    pub fn finish(self, out: &mut dyn StyledWrite) -> io::Result<bool> {
        if let Some(text) = self.text {
            text.finish(out)?;
        }
        if self.form == ChangeForm::Document {
            let lead = if self.written == 0 { &self.head } else { "" };
            writeln!(out, "{lead}]}}")?;
        }
        Ok(self.written > 0)
    }
}
