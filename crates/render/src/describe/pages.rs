//! Pages one after the other, in one of the formats.

use std::io;

use super::{Description, Look, document, write_text};
use crate::json;
use crate::style::StyledWrite;
use ketcd_history::diff::ManagedFields;

/// What pages are written as.
#[derive(Clone, Copy, Debug)]
pub enum PageForm<'a> {
    /// Text for people.
    Text(Look<'a>),
    /// A JSON document a line.
    Lines,
    /// One JSON document of one page.
    Document,
    /// One JSON document of all pages.
    List,
}

/// Pages that are being written.
pub struct Pages<'a> {
    form: PageForm<'a>,
    managed_fields: ManagedFields,
    written: usize,
}

impl<'a> Pages<'a> {
    /// Begins to write pages; nothing is written yet.
    pub fn new(form: PageForm<'a>, managed_fields: ManagedFields) -> Self {
        Self { form, managed_fields, written: 0 }
    }

    /// Writes a page.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(&mut self, description: &Description, out: &mut dyn StyledWrite) -> io::Result<()> {
        let page = || document(description, self.managed_fields);
        match self.form {
            PageForm::Lines => json::write_line(&page(), out)?,
            PageForm::Document => json::write_document(&page(), out)?,
            PageForm::List => {
                out.write_all(if self.written == 0 { b"{\"items\":[" } else { b"," })?;
                json::write_compact(&page(), out)?;
            }
            PageForm::Text(look) => {
                out.write_all(if self.written == 0 { b"" } else { b"\n\n" })?;
                write_text(description, look, out)?;
            }
        }
        self.written += 1;
        Ok(())
    }

    /// Ends the output.
    ///
    /// # Errors
    /// The stream's.
    pub fn finish(self, out: &mut dyn StyledWrite) -> io::Result<()> {
        if let PageForm::List = self.form {
            let lead = if self.written == 0 { "{\"items\":[" } else { "" };
            writeln!(out, "{lead}],\"kind\":\"List\"}}")?;
        }
        Ok(())
    }
}
