//! The folder that the documentation works in: the recorded clusters that its commands name, unpacked.

use std::fs;
use std::io;
use std::path::Path;

use super::testdata;

/// A scheduler's configuration that fills nodes, as `docs/how-to/change-the-scheduler.md` shows it.
pub const PACKING: &str = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
";

/// Files as they are recorded: where they lie in `testdata`, and what they are called in the folder.
const COPIED: [(&str, &str); 5] = [
    ("captures/k120-story/snapshot.db.zst", "snapshot.db.zst"),
    ("captures/k120-story/compacted.db.zst", "compacted.db.zst"),
    ("captures/k120-story/story.log", "story.log"),
    ("audit/snapshot.db.zst", "audited/snapshot.db.zst"),
    ("audit/full.jsonl.zst", "audited/audit.log.zst"),
];

/// Files that are unpacked.
const UNPACKED: [(&str, &str); 4] = [
    ("captures/k120-story/snapshot.db.zst", "snapshot.db"),
    ("captures/k120-story/compacted.db.zst", "yesterday.db"),
    ("captures/k120-story/member.tar.zst", "member.tar"),
    ("captures/k137-whatif/snapshot.db.zst", "shop.db"),
];

/// What somebody changes in `changed.db`: the last byte of this.
const IMAGE: &[u8] = b"tomcat:10";

/// Writes the files into a folder that exists, and returns their names.
///
/// # Errors
/// The file system's.
///
/// # Panics
/// The recorded files are not there.
pub fn lay_out(folder: &Path) -> io::Result<Vec<&'static str>> {
    fs::create_dir_all(folder.join("audited"))?;
    for (from, to) in COPIED {
        fs::copy(testdata::path(from), folder.join(to))?;
    }
    for (from, to) in UNPACKED {
        fs::write(folder.join(to), testdata::read(from))?;
    }
    let mut changed = fs::read(folder.join("snapshot.db"))?;
    let at = changed.windows(IMAGE.len()).position(|window| window == IMAGE).expect("the snapshot has the image");
    changed[at + IMAGE.len() - 1] = b'1';
    fs::write(folder.join("changed.db"), changed)?;
    fs::write(folder.join("packing.yaml"), PACKING)?;
    Ok(COPIED.iter().chain(&UNPACKED).map(|(_, name)| *name).chain(["changed.db", "packing.yaml"]).collect())
}
