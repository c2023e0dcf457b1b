//! `mcp --redact`: what is served is a bundle of everything, made when the server starts, in which nothing is left of what goes. So every answer is masked
//! below whatever makes it.

use tempfile::TempDir;

use super::folder;
use crate::cli::bundling::{self, RedactionArgs};
use crate::cli::input::connection::ConnectionArgs;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::history_window::Ends;
use crate::cli::outcome::Result;
use crate::cli::output::Output;
use crate::cli::session::Session;
use ketcd_cluster::rights::Question;

/// What is replaced, and by which pseudonyms.
pub(in crate::cli) struct Redaction {
    /// The classes, as `bundle --redact` takes them.
    pub classes: String,
    /// The salt: a text, or the name of a file that holds it.
    pub salt: Option<String>,
}

impl Redaction {
    /// Makes the bundle in a private folder, and returns the flags that read it. It is gone with the folder.
    ///
    /// # Errors
    /// A class that is none; the source cannot be read, or the bundle not be written.
    pub(super) async fn bundle(&self, global: &GlobalArgs) -> Result<(TempDir, GlobalArgs)> {
        let folder = folder::private()?;
        let path = folder.path().join("redacted.ketcd");
        let redaction = RedactionArgs::of(self.classes.clone(), self.salt.clone());
        let of_all = GlobalArgs { namespace: None, all_namespaces: true, ..global.clone() };
        let mut session = Session::new(&of_all, &Ends::default(), false)?.begun(&Question::Bundle.reads()).await?;
        session.cluster.fix_revision().await?;
        let (mut out, _) = Output::in_memory(0);
        let asked = bundling::AskedBundle { words: &[], out: &path, redaction: &redaction, force: false };
        // Only what would be said of the file is not taken.
        match bundling::bundle(&session, &asked, &mut out).await {
            Err(error) if !error.is_broken_pipe() => return Err(error),
            _ => {}
        }
        let files = vec![path.display().to_string()];
        let connection = ConnectionArgs::default();
        let files_only =
            GlobalArgs { files, connection, rev: None, at: None, prefix: None, encryption_config: None, namespace: None, ..of_all };
        Ok((folder, files_only))
    }
}
