//! What a user may not read, and the commands that grant it.

use super::trouble::Trouble;
use super::wire::range_end;
use crate::shell::quoted;
use crate::{Error, KeyRange};

/// The error of keys that the user may not read: what to grant is exactly these.
pub(super) fn denied(keys: &KeyRange, trouble: &Trouble) -> Error {
    let hint = format!("grant its role what it lacks: {}", grant_command(keys));
    Error::Denied { keys: keys.clone(), problem: format!("{} read {}", trouble.problem, shown(keys)), hint }
}

/// The error of a bounded watch for which all keys would have to be read.
pub(super) fn dense_denied(trouble: &Trouble) -> Error {
    let keys = KeyRange::all();
    Error::Denied {
        problem: format!(
            "{} read all keys, as a past watch needs of this release of etcd, which says too early that one has ended (etcd issue 15220)",
            trouble.problem
        ),
        hint: format!("upgrade etcd to 3.4.25, 3.5.8 or newer, or grant its role what it lacks: {}", grant_command(&keys)),
        keys,
    }
}

/// Keys as a sentence names them.
fn shown(keys: &KeyRange) -> String {
    let text = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
    match range_end(keys, &keys.start) {
        None => text(&keys.start),
        Some(_) if is_everything(keys) => "all keys".to_owned(),
        Some(_) if *keys == KeyRange::prefix(&keys.start[..]) => format!("{}*", text(&keys.start)),
        Some(end) => format!("{} to {}", text(&keys.start), text(&end)),
    }
}

/// The command by which an administrator lets a role read these keys.
pub fn grant_command(keys: &KeyRange) -> String {
    let command = "etcdctl role grant-permission ROLE read";
    match range_end(keys, &keys.start) {
        None => format!("{command} {}", quoted(&keys.start)),
        Some(_) if is_everything(keys) => format!("{command} --prefix=true ''"),
        Some(_) if *keys == KeyRange::prefix(&keys.start[..]) => format!("{command} --prefix=true {}", quoted(&keys.start)),
        Some(end) => format!("{command} {} {}", quoted(&keys.start), quoted(&end)),
    }
}

fn is_everything(keys: &KeyRange) -> bool {
    keys.end.is_none() && matches!(&keys.start[..], [] | [0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_of_exactly_the_keys() {
        let grant = |keys: &KeyRange| grant_command(keys).replace("etcdctl role grant-permission ROLE read ", "");
        assert_eq!(grant(&KeyRange::key("/registry/pods/lab/a")), "/registry/pods/lab/a");
        assert_eq!(grant(&KeyRange::prefix("/registry/pods/")), "--prefix=true /registry/pods/");
        assert_eq!(grant(&KeyRange::all()), "--prefix=true ''");
        assert_eq!(grant(&KeyRange::key("/a b'c")), r"'/a b'\''c'");
        let between = KeyRange { start: b"/a".to_vec(), end: Some(b"/q".to_vec()) };
        assert_eq!((grant(&between), shown(&between)), ("/a /q".to_owned(), "/a to /q".to_owned()));
        assert_eq!(shown(&KeyRange::prefix("/registry/pods/")), "/registry/pods/*");
    }
}
