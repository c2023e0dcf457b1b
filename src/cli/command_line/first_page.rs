//! What `ketcd` alone prints: a first page that fits a terminal of 24 lines and 80 columns.

use std::path::Path;

use crate::cli::connection::well_known;
use crate::cli::invocation::spelling;

/// What one does first, each as a question and the command that answers it.
const FIRST_PAGE: &str = "\
ketcd reads Kubernetes out of etcd: what is there, what happened, and why each
pod runs where it runs. It never writes to etcd.

It reads the live etcd that ETCDCTL_* variables or flags name, or with -f PATH a
snapshot, a member's db file or data dir, a recording, or kubectl's objects.

What is broken, since when, and who changed what before?
  ketcd -f snapshot.db triage

What was there at 22:20?
  ketcd -f snapshot.db get pods -A --at 22:20

What happened to a pod, a node or a namespace, and who did it?
  ketcd -f snapshot.db timeline pod/lab/ubuntu

Why does a pod run on its node, or on none?
  ketcd -f snapshot.db explain pod/lab/spread-5

";

const MORE_LINE: &str = "All commands and flags: ketcd --help; of one command: ketcd timeline --help\n";

pub(in crate::cli) fn page() -> String {
    let node = well_known::find(Path::new("/")).map(|found| on_control_plane(found.distribution));
    spelling::spelled(&format!("{FIRST_PAGE}{}{MORE_LINE}", node.unwrap_or_default())).into_owned()
}

/// What else to do on a control plane node.
fn on_control_plane(distribution: &str) -> String {
    format!("This is a control plane node of {distribution}. What is broken: ketcd triage\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_fits_a_terminal_on_a_control_plane_node_too() {
        let page = format!("{FIRST_PAGE}{}{MORE_LINE}", on_control_plane("Kubespray"));
        assert!(page.lines().count() <= 23 && page.lines().all(|line| line.len() <= 80), "{page}");
    }
}
