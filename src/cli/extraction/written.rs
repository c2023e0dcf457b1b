//! `--since` and `--by`: which objects are extracted, by when they were written last and by whom.

use clap::{Args, ValueEnum};

use crate::cli::outcome::Result;
use ketcd_cluster::Cluster;
use ketcd_cluster::extract::{By, LastWritten};
use ketcd_history::clock::Bound;

/// Which objects are extracted, by their last writes.
#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct WrittenArgs {
    /// Only objects written after this: a revision (`441846` or `r441846`), a time, or an age (`26h`).
    ///
    /// A revision may be older than the readable history: an object says by itself when it was written last. By whom since then shows only where the state
    /// of then is readable; elsewhere everybody who ever wrote it counts, and what may be older is named. A backup of that time as another -f decides it.
    #[arg(long, hide_short_help = true, value_name = "REV|TIME", allow_hyphen_values = true, value_parser = since, conflicts_with = "rules")]
    since: Option<Bound>,
    /// Only objects that these wrote, after --since if it is given: `people`, `gitops`, `all`.
    ///
    /// Field managers show who it was: `people` are kubectl and other tools that people call, and what nothing says the writer of; `gitops` are Argo CD,
    /// Flux, Helm and the like. What only controllers and kubelets wrote is left out.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "WHO",
        value_delimiter = ',',
        value_enum,
        hide_possible_values = true,
        conflicts_with = "rules"
    )]
    by: Vec<Writers>,
}

/// Whose objects are extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Writers {
    /// People, and what nothing says the writer of.
    People,
    /// What keeps a cluster as a repository says.
    Gitops,
    /// Anybody.
    All,
}

impl WrittenArgs {
    /// Returns which objects of a cluster are meant.
    ///
    /// # Errors
    /// The source cannot be read, or not at that time.
    pub(in crate::cli) async fn read(&self, cluster: &Cluster) -> Result<LastWritten> {
        let after = match self.since {
            Some(bound) => Some(cluster.written_after(bound).await?),
            None => None,
        };
        let by = |writers: &Writers| match writers {
            Writers::People => By::People,
            Writers::Gitops => By::GitOps,
            Writers::All => By::All,
        };
        Ok(LastWritten { after, by: self.by.iter().map(by).collect() })
    }
}

/// Reads a revision, with or without its `r`, or a time.
fn since(text: &str) -> std::result::Result<Bound, String> {
    let is_revision = |rest: &&str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('r').filter(is_revision).unwrap_or(text);
    text.parse().map_err(|error: ketcd_history::clock::ParseBoundError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ketcd_cluster::Revision;

    #[test]
    fn revisions_have_an_r_or_none() {
        assert_eq!((since("r441846"), since("441846")), (Ok(Bound::Revision(Revision(441_846))), Ok(Bound::Revision(Revision(441_846)))));
        assert!(since("26h").is_ok() && since("r").is_err() && since("rx").is_err());
    }
}
