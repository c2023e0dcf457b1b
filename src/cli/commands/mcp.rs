//! `ketcd mcp`: questions for assistants.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::cli::assistant::{self, AskedAssistant, Redaction};
use crate::cli::connection::cautions;
use crate::cli::connection::runtime::block_on_threads;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::Output;
use crate::cli::session::command::Run;
use ketcd_serve::CertificateFiles;

/// Answer the questions of an assistant (Model Context Protocol)
///
/// An assistant that speaks the Model Context Protocol starts this command and asks over standard input and output: what is broken, what happened,
/// why a pod runs where it runs. Nothing can be changed. What is read is fixed by the flags given here, never by the assistant; with --rev or
/// --at it sees nothing later, and it can look further back. Answers are text, or JSON where asked for, of at most 24 KB; what was cut is named
/// with the call that goes on. Values of Secrets are always masked. Serves over HTTP with --listen, behind a token and TLS as serve does.
#[derive(Args, Debug)]
#[command(before_help = "\
# What an assistant is told to start, with a snapshot\n\
ketcd -f snapshot.db mcp < /dev/null\n\
# The same without names and values, as it was at 22:20\n\
ketcd -f snapshot.db --at 22:20 mcp --redact all < /dev/null")]
pub(crate) struct McpArgs {
    /// Serve over HTTP at this address instead; port 0 picks a free one. With any address but loopback, other machines that have the token can connect.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The server's certificate in PEM, with its chain. Default: one made for this run.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key in PEM.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Replace these by pseudonyms, in everything that is served: `names`, `namespaces`, `values`, `addresses`, `identities`, `tokens`, or `all`.
    ///
    /// What is served is then a bundle of everything as of the start, made in TMPDIR and removed at the end; bundle says what each class is.
    #[arg(long, value_name = "CLASSES", help_heading = "Redaction")]
    redact: Option<String>,
    /// Make pseudonyms with this salt, or with the content of the file of this name: the same salt gives the same pseudonyms.
    #[arg(long, value_name = "FILE|TEXT", value_hint = ValueHint::FilePath, requires = "redact", help_heading = "Redaction")]
    salt: Option<String>,
}

impl Run for McpArgs {
    fn may_be_paged(&self) -> bool {
        false
    }

    fn run(&self, global: &GlobalArgs, _out: &mut Output) -> Result<Outcome> {
        self.tls_key.iter().for_each(|key| cautions::of_key("--tls-key", key));
        let certificate = self.tls_cert.clone().zip(self.tls_key.clone()).map(|(certificate, key)| CertificateFiles { certificate, key });
        let redaction = self.redact.clone().map(|classes| Redaction { classes, salt: self.salt.clone() });
        let asked = AskedAssistant { listen: self.listen, certificate, redaction };
        block_on_threads(ketcd_serve::threads(), assistant::serve(global, &asked))
    }
}
