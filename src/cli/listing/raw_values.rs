//! Values without a cluster: read from a file or standard input, and printed as JSON.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::Output;
use crate::cli::output::notices::Attendance;
use ketcd_cluster::Problems;
use ketcd_kube::{Decoder, Observer, Opaque, Release, UnknownField};
use ketcd_render::contract::decode::Failed;

/// A file of values, and what decodes them.
pub(in crate::cli) struct RawValues<'a> {
    /// Its name; `None` is standard input.
    file: Option<&'a str>,
    decoder: Decoder,
    /// Whether the release that values are read as was asked for.
    is_release_given: bool,
    problems: Problems,
}

impl<'a> RawValues<'a> {
    /// Values of a file, or of standard input; nothing is read yet.
    pub(in crate::cli) fn new(global: &GlobalArgs, file: Option<&'a str>) -> Self {
        let decoder = Decoder::for_stored_values().with_release(global.release.unwrap_or(Release::PROVEN));
        let problems = Problems::new(global.unknown, Attendance::User.notices());
        Self { file, decoder: decoder.showing_secrets(global.show_secrets), is_release_given: global.release.is_some(), problems }
    }

    /// Prints the one value that the file holds.
    ///
    /// # Errors
    /// The file cannot be read, or the value not be decoded.
    pub(in crate::cli) fn decode_one(&self, out: &mut Output) -> Result<Outcome> {
        let (mut value, mut text) = (Vec::new(), Vec::new());
        self.open()?.read_to_end(&mut value).map_err(|error| self.unreadable(&error))?;
        let mut unknown = decode(&self.decoder, &value, &mut text).map_err(|opaque| {
            Error::new(format!("cannot decode the value of {} bytes: {}", opaque.length, opaque.reason)).hint(if opaque.expected {
                "give the bytes of one Kubernetes object as etcd holds them"
            } else {
                "give the bytes as etcd holds them, unchanged and whole"
            })
        })?;
        if let Some((release, known)) = self.by_another_release(&unknown, |decoder, text| decode(decoder, &value, text)) {
            Attendance::User.note(&format!("read as Kubernetes {release} writes it, which has all of its fields; --release names another"));
            (text, unknown) = (known, Vec::new());
        }
        if !unknown.is_empty() {
            self.problems.unknown_fields(b"", &unknown);
        }
        self.problems.report();
        text.push(b'\n');
        out.write_all(&text)?;
        Ok(Outcome::Found)
    }

    /// The text of a value by the newest release that has all of its fields, where none was asked for and the usual one lacks some.
    fn by_another_release(
        &self,
        unknown: &[UnknownField],
        decode: impl Fn(&Decoder, &mut Vec<u8>) -> Result<Vec<UnknownField>, Opaque>,
    ) -> Option<(Release, Vec<u8>)> {
        if self.is_release_given || unknown.is_empty() {
            return None;
        }
        (Release::OLDEST.0..=Release::NEWEST.0).rev().map(Release).find_map(|release| {
            let mut text = Vec::new();
            let unknown = decode(&self.decoder.clone().with_release(release), &mut text).ok()?;
            unknown.is_empty().then_some((release, text))
        })
    }

    /// Prints the values of the file, one in base64 a line, as one document a line.
    ///
    /// # Errors
    /// The file cannot be read. What cannot be decoded is a document that says why.
    pub(in crate::cli) fn decode_lines(&self, out: &mut Output) -> Result<Outcome> {
        let (mut input, mut outcome) = (self.open()?, Outcome::Found);
        let (mut line, mut text, mut number, mut of_others) = (String::new(), Vec::new(), 0, 0);
        loop {
            line.clear();
            if input.read_line(&mut line).map_err(|error| self.unreadable(&error))? == 0 {
                break;
            }
            number += 1;
            text.clear();
            let decoded = BASE64.decode(line.trim()).map_err(|_| format!("line {number} is not base64"));
            let value = decoded.as_deref().unwrap_or_default();
            let read = |decoder: &Decoder, text: &mut Vec<u8>| decoder.decode_text(b"", value, 0, text);
            match decoded.as_ref().map_err(Clone::clone).and_then(|_| read(&self.decoder, &mut text).map_err(|opaque| opaque.reason)) {
                Ok(unknown) => {
                    if let Some((_, known)) = self.by_another_release(&unknown, read) {
                        of_others += 1;
                        text = known;
                    } else if !unknown.is_empty() {
                        self.problems.unknown_fields(format!("line {number}").as_bytes(), &unknown);
                    }
                }
                Err(reason) => {
                    outcome = Outcome::Nothing;
                    text = serde_json::to_vec(&Failed { error: &reason })?;
                }
            }
            text.push(b'\n');
            out.write_all(&text)?;
        }
        if of_others > 0 {
            let (s, has, its) = if of_others == 1 { ("", "has", "its") } else { ("s", "have", "their") };
            Attendance::User.note(&format!(
                "{of_others} value{s} {has} fields that the default release does not know, and {its} JSON is that of a release that has them; --release names one"
            ));
        }
        self.problems.report();
        Ok(outcome)
    }

    fn open(&self) -> Result<Box<dyn BufRead>> {
        match self.file {
            None | Some("-") => Ok(Box::new(io::stdin().lock())),
            Some(path) => Ok(Box::new(BufReader::new(File::open(path).map_err(|error| self.unreadable(&error))?))),
        }
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        let name = self.file.unwrap_or("standard input");
        Error::new(format!("cannot read {name}: {error}")).hint("check the path and its permissions")
    }
}

/// Decodes a value as it is or, where that fails, without the newline that `etcdctl get --print-value-only` puts behind a value, and without the line
/// of its key that `etcdctl get` puts before it.
fn decode(decoder: &Decoder, value: &[u8], text: &mut Vec<u8>) -> Result<Vec<UnknownField>, Opaque> {
    decode_printed(decoder, b"", value, text).or_else(|opaque| match printed_key(value) {
        Some((key, value)) => decode_printed(decoder, key, value, text).map_err(|_| opaque),
        None => Err(opaque),
    })
}

fn decode_printed(decoder: &Decoder, key: &[u8], value: &[u8], text: &mut Vec<u8>) -> Result<Vec<UnknownField>, Opaque> {
    decoder.decode_text(key, value, 0, text).or_else(|opaque| {
        let printed = value.strip_suffix(b"\n").ok_or_else(|| opaque.clone())?;
        decoder.decode_text(key, printed, 0, text).map_err(|_| opaque)
    })
}

/// The line of a key and what follows it.
fn printed_key(printed: &[u8]) -> Option<(&[u8], &[u8])> {
    /// No API server's key is longer.
    const MAX_KEY_BYTES: usize = 4096;
    let end = printed.iter().take(MAX_KEY_BYTES).position(|&byte| byte == b'\n')?;
    let is_key = printed.starts_with(b"/") && printed[..end].iter().all(u8::is_ascii_graphic);
    is_key.then(|| (&printed[..end], &printed[end + 1..]))
}
