//! Values without a cluster: read from a file or standard input, and printed as JSON.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::args::GlobalArgs;
use super::attendance::Attendance;
use super::output::Output;
use super::{Error, Outcome, Result};
use ketcd_cluster::Problems;
use ketcd_kube::{Decoder, Observer, Opaque, Release, UnknownField};
use ketcd_render::contract::decode::Failed;

/// A file of values, and what decodes them.
pub(super) struct RawValues<'a> {
    /// Its name; `None` is standard input.
    file: Option<&'a str>,
    decoder: Decoder,
    problems: Problems,
}

impl<'a> RawValues<'a> {
    /// Values of a file, or of standard input; nothing is read yet.
    pub(super) fn new(global: &GlobalArgs, file: Option<&'a str>) -> Self {
        let decoder = Decoder::for_stored_values().with_release(global.release.unwrap_or(Release::PROVEN));
        let problems = Problems::new(global.unknown, Attendance::User.notices());
        Self { file, decoder: decoder.showing_secrets(global.show_secrets), problems }
    }

    /// Prints the one value that the file holds.
    ///
    /// # Errors
    /// The file cannot be read, or the value not be decoded.
    pub(super) fn decode_one(&self, out: &mut Output) -> Result<Outcome> {
        let (mut value, mut text) = (Vec::new(), Vec::new());
        self.open()?.read_to_end(&mut value).map_err(|error| self.unreadable(&error))?;
        let unknown = self.decode(&value, &mut text).map_err(|opaque| {
            Error::new(format!("cannot decode the value of {} bytes: {}", opaque.length, opaque.reason)).hint(if opaque.expected {
                "give the bytes of one Kubernetes object as etcd holds them"
            } else {
                "give the bytes as etcd holds them, unchanged and whole"
            })
        })?;
        if !unknown.is_empty() {
            self.problems.unknown_fields(b"", &unknown);
        }
        self.problems.report();
        text.push(b'\n');
        out.write_all(&text)?;
        Ok(Outcome::Found)
    }

    /// Decodes a value as it is or, where that fails, without the newline that `etcdctl get --print-value-only` puts behind a value.
    fn decode(&self, value: &[u8], text: &mut Vec<u8>) -> Result<Vec<UnknownField>, Opaque> {
        self.decoder.decode_text(b"", value, 0, text).or_else(|opaque| {
            let printed = value.strip_suffix(b"\n").ok_or_else(|| opaque.clone())?;
            self.decoder.decode_text(b"", printed, 0, text).map_err(|_| opaque)
        })
    }

    /// Prints the values of the file, one in base64 a line, as one document a line.
    ///
    /// # Errors
    /// The file cannot be read. What cannot be decoded is a document that says why.
    pub(super) fn decode_lines(&self, out: &mut Output) -> Result<Outcome> {
        let (mut input, mut outcome) = (self.open()?, Outcome::Found);
        let (mut line, mut text, mut number) = (String::new(), Vec::new(), 0);
        loop {
            line.clear();
            if input.read_line(&mut line).map_err(|error| self.unreadable(&error))? == 0 {
                break;
            }
            number += 1;
            text.clear();
            let decoded = BASE64.decode(line.trim()).map_err(|_| format!("line {number} is not base64"));
            match decoded.and_then(|value| self.decoder.decode_text(b"", &value, 0, &mut text).map_err(|opaque| opaque.reason)) {
                Ok(unknown) => {
                    if !unknown.is_empty() {
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
        Error::new(format!("cannot read {name}: {error}")).hint("check the path and that you may read it")
    }
}
