//! `ketcd decode`: one raw value as it lies in etcd, or many in base64, to JSON; no source needed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clap::Args;

use crate::cli::args::GlobalArgs;
use crate::cli::attendance::Attendance;
use crate::cli::output::Output;
use crate::cli::screen::Content;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::Problems;
use ketcd_kube::{Decoder, Observer, Opaque, Release, UnknownField};
use ketcd_render::contract::decode::Failed;

/// Print the JSON of a raw value from etcd
///
/// Reads one stored value (protobuf, JSON or CBOR, as the API server writes it) from a file or from standard input and prints the object as
/// the API server would return it. A final newline, as `etcdctl get --print-value-only` adds, is ignored. With --lines, reads one base64
/// value per line and prints one JSON document per line, in the same order; a value that cannot be decoded gives a line with the field
/// `error`.
#[derive(Args, Debug)]
#[command(before_help = "\
# One value, as `etcdctl get KEY --print-value-only` prints it\n\
ketcd decode value.bin\n\
# Many values, one in base64 a line\n\
ketcd decode --lines values.base64")]
pub(crate) struct DecodeArgs {
    /// The file that holds the value. Default: standard input (`-`).
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<String>,
    /// Read one base64 value per line, and print one JSON document per line.
    #[arg(long)]
    lines: bool,
}

/// Runs the command.
pub(super) fn run(args: &DecodeArgs, global: &GlobalArgs, out: &mut Output) -> Result<Outcome> {
    let decoder = Decoder::for_stored_values().with_release(global.release.unwrap_or(Release::PROVEN)).showing_secrets(global.show_secrets);
    // A pipe gets the bytes as they are.
    out.set_content(if out.is_terminal() { Content::Json } else { Content::Raw });
    let problems = Problems::new(global.unknown, Attendance::User.notices());
    let mut input = open(args.file.as_deref())?;
    if args.lines {
        return decode_lines(args, &problems, &decoder, &mut input, out);
    }
    let mut value = Vec::new();
    input.read_to_end(&mut value).map_err(|error| unreadable(args.file.as_deref(), &error))?;
    let mut text = Vec::new();
    let unknown = decode(&decoder, &value, &mut text).map_err(|opaque| {
        Error::new(format!("cannot decode the value of {} bytes: {}", opaque.length, opaque.reason)).hint(if opaque.expected {
            "give the bytes of one Kubernetes object as etcd holds them"
        } else {
            "give the bytes as etcd holds them, unchanged and whole"
        })
    })?;
    if !unknown.is_empty() {
        problems.unknown_fields(b"", &unknown);
    }
    problems.report();
    text.push(b'\n');
    out.write_all(&text)?;
    Ok(Outcome::Found)
}

/// Decodes a value as it is or, where that fails, without the newline that `etcdctl get --print-value-only` puts behind a value.
fn decode(decoder: &Decoder, value: &[u8], text: &mut Vec<u8>) -> Result<Vec<UnknownField>, Opaque> {
    decoder.decode_text(b"", value, 0, text).or_else(|opaque| {
        let printed = value.strip_suffix(b"\n").ok_or_else(|| opaque.clone())?;
        decoder.decode_text(b"", printed, 0, text).map_err(|_| opaque)
    })
}

fn decode_lines(args: &DecodeArgs, problems: &Problems, decoder: &Decoder, input: &mut dyn BufRead, out: &mut Output) -> Result<Outcome> {
    let mut outcome = Outcome::Found;
    let (mut line, mut text, mut number) = (String::new(), Vec::new(), 0);
    loop {
        line.clear();
        if input.read_line(&mut line).map_err(|error| unreadable(args.file.as_deref(), &error))? == 0 {
            break;
        }
        number += 1;
        text.clear();
        let decoded = BASE64.decode(line.trim()).map_err(|_| format!("line {number} is not base64"));
        match decoded.and_then(|value| decoder.decode_text(b"", &value, 0, &mut text).map_err(|opaque| opaque.reason)) {
            Ok(unknown) => {
                if !unknown.is_empty() {
                    problems.unknown_fields(format!("line {number}").as_bytes(), &unknown);
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
    problems.report();
    Ok(outcome)
}

fn open(file: Option<&str>) -> Result<Box<dyn BufRead>> {
    match file {
        None | Some("-") => Ok(Box::new(io::stdin().lock())),
        Some(path) => Ok(Box::new(BufReader::new(File::open(path).map_err(|error| unreadable(Some(path), &error))?))),
    }
}

fn unreadable(file: Option<&str>, error: &io::Error) -> Error {
    Error::new(format!("cannot read {}: {error}", file.unwrap_or("standard input"))).hint("check the path and that you may read it")
}
