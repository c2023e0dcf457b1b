//! How command lines name the sources of a rehearsal.

use ketcd_store::shell::quoted;
use ketcd_store::{SourceKind, SourceStatus};

/// The paths or endpoints of a source, each quoted for a shell.
pub(super) fn names_of(status: &SourceStatus) -> Vec<String> {
    let parts: Vec<String> = status.parts.iter().map(|part| quoted(part.name.as_bytes())).collect();
    if parts.is_empty() { vec![quoted(status.name.as_bytes())] } else { parts }
}

/// The flags by which ketcd opens a source, with a space before each.
pub(super) fn flags_of(status: &SourceStatus) -> String {
    let flag = |kind| if kind == SourceKind::Live { "--endpoints" } else { "-f" };
    match status.parts.as_slice() {
        [] => format!(" {} {}", flag(status.kind), quoted(status.name.as_bytes())),
        parts => parts.iter().map(|part| format!(" {} {}", flag(part.kind), quoted(part.name.as_bytes()))).collect(),
    }
}

/// The same where a running etcd is read with files.
pub(super) fn files_of(status: &SourceStatus) -> String {
    names_of(status).iter().map(|name| format!(" -f {name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted() {
        let status = SourceStatus::new(SourceKind::Db, "my backup.db".to_owned());
        assert_eq!((flags_of(&status), names_of(&status)), (" -f 'my backup.db'".to_owned(), vec!["'my backup.db'".to_owned()]));
        let live = SourceStatus::new(SourceKind::Live, "https://10.0.0.1:2379".to_owned());
        assert_eq!(flags_of(&live), " --endpoints https://10.0.0.1:2379");
        assert_eq!(files_of(&live), " -f https://10.0.0.1:2379");
    }
}
