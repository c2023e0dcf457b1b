//! `ketcd decode`: one raw value as it lies in etcd, or many in base64, to JSON; no source needed.

use clap::Args;

use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::listing::raw_values::RawValues;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::Output;
use crate::cli::session::command::Run;
use ketcd_render::command_line::CommandLine;
use ketcd_render::style::Content;

/// Print the JSON of a raw value from etcd
///
/// Reads one stored value (protobuf, JSON or CBOR, as the API server writes it) from a file or from standard input and prints the object as
/// the API server would return it: one of --release, or else of 1.36, or of the newest release that has all fields of the value. The line of
/// the key that `etcdctl get` prints before a value, and the newline behind it, are ignored. With --lines, reads one base64 value per line
/// and prints one JSON document per line, in the same order; a value that cannot be decoded gives a line with the field `error`.
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

impl Run for DecodeArgs {
    fn run(&self, global: &GlobalArgs, out: &mut Output) -> Result<Outcome> {
        if let Some(file) = global.files.first().filter(|_| !global.files_of_environment) {
            let wrong = Error::new("decode reads one value from a file or from standard input, not from -f");
            return Err(wrong.hint(format!("name a file that holds the value: {}", CommandLine::of("ketcd decode").word(file))));
        }
        // A pipe gets the bytes as they are.
        out.set_content(if out.is_terminal() { Content::Json } else { Content::Raw });
        let values = RawValues::new(global, self.file.as_deref());
        if self.lines { values.decode_lines(out) } else { values.decode_one(out) }
    }
}
