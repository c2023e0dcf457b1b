//! `ketcd ui`: the data in a browser.

use std::net::SocketAddr;

use clap::Args;

use crate::cli::connection::runtime::block_on_threads;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::invocation::invocation;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::Output;
use crate::cli::serving;
use crate::cli::session::command::Run;
use crate::cli::system::process::open_many;
use ketcd_serve::{Options, PageOptions};

/// Show the data in a browser
///
/// Serves a page on this machine and opens it: findings, the objects of any stretch of time with their states and changes, each object at any
/// moment with who set its lines, scheduling decisions, nodes, and what changed between two moments. It follows a live cluster. --rev and
/// --at say where it begins to look. The link that is printed holds a token, without which nobody reads the data. The page loads nothing from
/// elsewhere. serve --ui serves it to other machines, with TLS; report writes it into a file. ketcd --link URL, without a command, prints what a
/// link of the page shows as text.
#[derive(Args, Debug)]
#[command(before_help = "\
# The incident in a browser\n\
ketcd -f snapshot.db ui\n\
# At 22:20, on a port that is known\n\
ketcd -f snapshot.db --at 22:20 ui --listen 127.0.0.1:8080 --no-open")]
pub(crate) struct UiArgs {
    /// The address to listen on, one of this machine's own: 127.0.0.1 or ::1. Port 0 picks a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Print the link, and open no browser.
    #[arg(long)]
    no_open: bool,
}

impl Run for UiArgs {
    fn may_be_paged(&self) -> bool {
        false
    }

    fn run(&self, global: &GlobalArgs, _out: &mut Output) -> Result<Outcome> {
        block_on_threads(ketcd_serve::threads(), async {
            let page = PageOptions { invocation: invocation().clone(), is_alone: true };
            let options =
                Options { listen: self.listen, certificate: None, kubeconfig: None, files: open_many(), speed: None, page: Some(page) };
            let cluster = serving::open(global).await?;
            serving::show(cluster, &options, !self.no_open).await
        })
    }
}
