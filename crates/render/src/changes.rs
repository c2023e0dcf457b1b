//! Many changes, one after the other: as text, as JSON a line each, or as one JSON document.

use std::io::{self, Write};

use jiff::Timestamp;

use super::change;
use super::change_text::{ChangeWriter, Options};
use super::watch::{self, Beginning};
use ketcd_history::AttributedChange;
use ketcd_history::diff::ManagedFields;
use ketcd_store::Revision;

/// What changes are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for people.
    Text(Options),
    /// A JSON document a line.
    Lines,
    /// One JSON document of all.
    Document,
}

/// Changes that are being written.
pub struct Changes {
    form: Form,
    text: Option<ChangeWriter>,
    managed_fields: ManagedFields,
    written: usize,
}

impl Changes {
    /// Begins to write changes; nothing is written yet.
    pub fn new(form: Form, managed_fields: ManagedFields) -> Self {
        let text = if let Form::Text(options) = form { Some(ChangeWriter::new(options)) } else { None };
        Self { form, text, managed_fields, written: 0 }
    }

    /// Whether they are text, which names objects as people do.
    pub fn are_text(&self) -> bool {
        self.text.is_some()
    }

    /// Writes what is there before the changes; nothing into one document of all changes.
    ///
    /// # Errors
    /// The stream's.
    pub fn begin(&mut self, beginning: &Beginning<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self.form {
            Form::Text(_) => beginning.write_text(Timestamp::now(), out),
            Form::Lines => beginning.write_json(self.managed_fields, out),
            Form::Document => Ok(()),
        }
    }

    /// Writes missing revisions between the changes. Returns whether people see them there.
    ///
    /// # Errors
    /// The stream's.
    pub fn gap(&mut self, from: Revision, to: Revision, out: &mut dyn Write) -> io::Result<bool> {
        match self.form {
            Form::Text(_) => watch::write_gap_text(from, to, out)?,
            Form::Lines => watch::write_gap_json(from, to, out)?,
            Form::Document => {}
        }
        Ok(self.are_text())
    }

    /// Writes one change; `name` is what a person would type for its key, which only text shows.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(&mut self, attributed: &AttributedChange, name: &str, out: &mut dyn Write) -> io::Result<()> {
        match &mut self.text {
            Some(text) => text.write(attributed, name, out)?,
            None => {
                let managed_fields = self.managed_fields;
                self.around(out, |out| change::write_json(attributed, managed_fields, out))?;
            }
        }
        self.written += 1;
        Ok(())
    }

    /// Writes a change whose JSON is made already.
    ///
    /// # Errors
    /// The stream's.
    pub fn write_made(&mut self, document: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.around(out, |out| out.write_all(document))?;
        self.written += 1;
        Ok(())
    }

    /// Writes the JSON of one change, with what stands around it.
    fn around(&self, out: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let lead: &[u8] = match (self.form, self.written) {
            (Form::Document, 0) => b"{\"kind\":\"History\",\"changes\":[\n",
            (Form::Document, _) => b",\n",
            _ => b"",
        };
        out.write_all(lead)?;
        write(out)?;
        out.write_all(if self.form == Form::Lines { b"\n" } else { b"" })
    }

    /// Ends the output and returns whether there was any change.
    ///
    /// # Errors
    /// The stream's.
    pub fn finish(self, out: &mut dyn Write) -> io::Result<bool> {
        if let Some(text) = self.text {
            text.finish(out)?;
        }
        if self.form == Form::Document {
            let lead = if self.written == 0 { "{\"kind\":\"History\",\"changes\":[" } else { "" };
            writeln!(out, "{lead}]}}")?;
        }
        Ok(self.written > 0)
    }
}
