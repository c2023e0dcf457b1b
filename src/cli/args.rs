//! The command line: global flags, named as etcdctl and kubectl name them.

use std::path::PathBuf;

use clap::{Args, Parser};

use ketcd_kube::{Quantity, QuantityError, Release};

use super::Result;
use super::commands::Command;
use super::complete;
use super::connection::ConnectionArgs;
use super::output::{Color, Format};

/// Reads Kubernetes out of etcd: objects, their history, and why each pod runs where it runs.
#[derive(Parser, Debug)]
#[command(name = "ketcd", version, propagate_version = true, max_term_width = 100)]
pub(super) struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags of every command.
#[derive(Args, Debug, Clone)]
pub(super) struct GlobalArgs {
    /// Read a file instead of a live etcd: a snapshot, a member's db, its data dir, API objects as kubectl prints them; plain, gzip or zstd; `-` is standard input.
    #[arg(short = 'f', long = "file", value_name = "PATH", global = true, help_heading = "Source")]
    pub files: Vec<String>,
    /// The most bytes to unpack from a compressed file, or to read from a pipe, into TMPDIR.
    #[arg(long, value_name = "SIZE", default_value = "16Gi", value_parser = size, global = true, help_heading = "Source")]
    pub max_unpacked_size: u64,
    /// How to reach a live etcd.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// Look at this revision instead of the newest.
    #[arg(long, value_name = "N", global = true, conflicts_with = "at", help_heading = "Source")]
    pub rev: Option<String>,
    /// Look at this time: RFC 3339, `14:03:20`, or `-10m`.
    #[arg(long, value_name = "TIME", global = true, allow_hyphen_values = true, help_heading = "Source")]
    pub at: Option<String>,
    /// The apiserver's --etcd-prefix; found by itself where it can be.
    #[arg(long, value_name = "PREFIX", global = true, help_heading = "Source")]
    pub prefix: Option<String>,
    /// Open values sealed at rest with the keys of this EncryptionConfiguration, the API server's own file.
    #[arg(long, value_name = "FILE", global = true, help_heading = "Source")]
    pub encryption_config: Option<PathBuf>,
    /// The namespace of namespaced kinds.
    #[arg(short = 'n', long, value_name = "NAMESPACE", global = true, add = complete::namespaces(), help_heading = "Selection")]
    pub namespace: Option<String>,
    /// All namespaces.
    #[arg(short = 'A', long, global = true, conflicts_with = "namespace", help_heading = "Selection")]
    pub all_namespaces: bool,
    /// table, wide, json, yaml, name, ndjson, jsonpath=…, custom-columns=…
    #[arg(short = 'o', long, value_name = "FORMAT", global = true, help_heading = "Output")]
    pub output: Option<String>,
    /// When to colour.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", global = true, help_heading = "Output")]
    pub color: Color,
    /// Render as an API server of this release would; default: the release found in the data, or the newest
    /// (`decode`: 1.36, the newest whose JSON was held against an API server's).
    #[arg(long, value_name = "1.NN", global = true, help_heading = "Output")]
    pub release: Option<Release>,
    /// Show the fields that the release does not know, by their numbers, on standard error.
    #[arg(long, global = true, help_heading = "Output")]
    pub unknown: bool,
    /// Show managedFields, which kubectl leaves out.
    #[arg(long, global = true, help_heading = "Output")]
    pub show_managed_fields: bool,
    /// Show the values of Secrets instead of `***`.
    #[arg(long, global = true, help_heading = "Output")]
    pub show_secrets: bool,
    /// Whether nobody waits for an answer, as while a shell completes a word: nothing is asked and no caution given.
    #[arg(skip)]
    pub unattended: bool,
}

/// Bytes, written as Kubernetes writes quantities: `16Gi`, `500M`.
fn size(text: &str) -> std::result::Result<u64, String> {
    let quantity: Quantity = text.parse().map_err(|error: QuantityError| error.to_string())?;
    u64::try_from(quantity.value()).ok().filter(|&bytes| bytes > 0).ok_or_else(|| "it must be greater than 0".to_owned())
}

impl GlobalArgs {
    /// What `-o` asks for.
    ///
    /// # Errors
    /// A format that does not exist.
    pub(super) fn format(&self) -> Result<Format> {
        Format::parse(self.output.as_deref())
    }
}
