//! The folder that the documentation works in: the recorded clusters that its commands name, unpacked.

use std::fs;
use std::io;
use std::path::Path;

use super::testdata;

/// A scheduler's configuration that fills nodes, as `docs/how-to/change-the-scheduler.md` shows it.
pub const PACKING_CONFIG: &str = "\
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
const COPIED_FILES: [(&str, &str); 5] = [
    ("captures/k120-story/snapshot.db.zst", "snapshot.db.zst"),
    ("captures/k120-story/compacted.db.zst", "compacted.db.zst"),
    ("captures/k120-story/story.log", "story.log"),
    ("audit/snapshot.db.zst", "audited/snapshot.db.zst"),
    ("audit/full.jsonl.zst", "audited/audit.log.zst"),
];

/// Files that are unpacked.
const UNPACKED_FILES: [(&str, &str); 6] = [
    ("captures/k120-story/snapshot.db.zst", "snapshot.db"),
    ("captures/k120-story/compacted.db.zst", "yesterday.db"),
    ("captures/k120-story/earlier.db.zst", "earlier.db"),
    ("captures/k120-story/earlier.db.zst", "restored.db"),
    ("captures/k120-story/member.tar.zst", "member.tar"),
    ("captures/k137-whatif/snapshot.db.zst", "shop.db"),
];

/// What somebody changes in `changed.db`: the last byte of this.
const CHANGED_IMAGE: &[u8] = b"tomcat:10";

/// Writes the files into a folder that exists, and returns their names.
///
/// # Errors
/// The file system's.
///
/// # Panics
/// The recorded files are not there.
pub fn lay_out(folder: &Path) -> io::Result<Vec<&'static str>> {
    fs::create_dir_all(folder.join("audited"))?;
    for (from, to) in COPIED_FILES {
        fs::copy(testdata::path(from), folder.join(to))?;
    }
    for (from, to) in UNPACKED_FILES {
        fs::write(folder.join(to), testdata::read(from))?;
    }
    let mut changed = fs::read(folder.join("snapshot.db"))?;
    let at = changed.windows(CHANGED_IMAGE.len()).position(|window| window == CHANGED_IMAGE).expect("the snapshot has the image");
    changed[at + CHANGED_IMAGE.len() - 1] = b'1';
    fs::write(folder.join("changed.db"), changed)?;
    fs::write(folder.join("packing.yaml"), PACKING_CONFIG)?;
    Ok(COPIED_FILES.iter().chain(&UNPACKED_FILES).map(|(_, name)| *name).chain(["changed.db", "packing.yaml"]).collect())
}
