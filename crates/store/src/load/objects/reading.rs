//! Reads the objects of one file.

use bytes::Bytes;

use super::collection::Objects;
use super::surroundings::without_surroundings;
use super::{PathKind, json, printed_text, yaml};

/// Problems of one file that are reported one by one.
const MAX_PROBLEMS_REPORTED: usize = 10;

const UNKNOWN_FORMAT_ERROR: &str = "is neither an etcd database nor API objects as kubectl prints them (JSON or YAML)";

impl Objects<'_> {
    /// Reads the objects of one file; returns one message for each item that cannot be read.
    ///
    /// # Errors
    ///
    /// The bytes are not objects; the error is a fragment.
    pub(in crate::load) fn read(&mut self, path: &str, bytes: &Bytes) -> Result<Vec<String>, String> {
        const PROBED_BYTES: usize = 4096;
        let bytes = &of_utf16(bytes);
        if bytes[..bytes.len().min(PROBED_BYTES)].contains(&0) {
            return Err(UNKNOWN_FORMAT_ERROR.to_owned());
        }
        let bytes = &without_surroundings(bytes);
        self.files.push(path.to_owned());
        self.file_image = Some(self.images.len());
        self.images.push(bytes.clone());
        self.path_kind = PathKind::of(path);
        self.documents(bytes)
    }

    /// Begins a folder or an archive of files of objects.
    pub(in crate::load) fn begin(&mut self, path: &str) {
        self.files.push(path.to_owned());
    }

    /// Reads the objects of one of the files in it, as [`Self::read`] does, and copies them.
    ///
    /// # Errors
    ///
    /// As of [`Self::read`].
    pub(in crate::load) fn read_entry(&mut self, name: &str, bytes: &Bytes) -> Result<Vec<String>, String> {
        let bytes = &without_surroundings(&of_utf16(bytes));
        self.path_kind = PathKind::of(name);
        self.file_image = None;
        self.text = bytes.clone();
        let read = self.documents(bytes);
        self.text = Bytes::new();
        read
    }

    /// Whether the file that was read last holds nothing but the configuration of a program.
    pub(in crate::load) fn was_configuration(&self) -> bool {
        self.configuration.1 > 0 && !self.recognised
    }

    fn documents(&mut self, bytes: &Bytes) -> Result<Vec<String>, String> {
        (self.recognised, self.configuration) = (false, (None, 0));
        let mark = self.mark();
        let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let first = bytes[start..].iter().find(|byte| !byte.is_ascii_whitespace());
        let is_json = first.is_some_and(|first| matches!(first, b'{' | b'['));
        let mut damage = if is_json { json::read(self, bytes, start) } else { yaml::read(self, &bytes.slice(start..)) };
        if let Some(why) = self.stopped() {
            return Err(why.to_owned());
        }
        if damage.len() > MAX_PROBLEMS_REPORTED {
            let more = damage.len() - MAX_PROBLEMS_REPORTED;
            damage.truncate(MAX_PROBLEMS_REPORTED);
            damage.push(format!("{more} more of its objects or documents cannot be read"));
        }
        let added = self.kept.len() + self.unknown.len() - mark.kept - mark.unknown;
        if let (Some(said), true) = (self.configuration.0, self.configuration.1 == added && damage.is_empty()) {
            self.back_to(mark);
            self.recognised = false;
            return Err(said.to_owned());
        }
        if self.recognised {
            return Ok(damage);
        }
        if let Some(said) = printed_text::said(bytes) {
            return Err(said.to_owned());
        }
        let why = damage.into_iter().next().unwrap_or_else(|| "nothing in it has apiVersion and kind".to_owned());
        Err(format!("{UNKNOWN_FORMAT_ERROR}: {why}"))
    }
}

/// UTF-16 with a byte order mark, as PowerShell writes it with `>`, as UTF-8; other bytes as they are.
fn of_utf16(bytes: &Bytes) -> Bytes {
    let unit: fn([u8; 2]) -> u16 = match bytes.get(..2) {
        Some([0xff, 0xfe]) => u16::from_le_bytes,
        Some([0xfe, 0xff]) => u16::from_be_bytes,
        _ => return bytes.clone(),
    };
    let units = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>().into()
}
