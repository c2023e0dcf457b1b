//! What people hold and ketcd cannot open: each is named by its first bytes, with what to do about it.

use super::audit_text;

/// Bytes at the beginning that tell.
const PROBED_BYTES: usize = 512;

const AGE_ADVICE: &str = "is encrypted with age; decrypt it first: age -d -i KEY FILE | ketcd -f - …";
const PGP_ADVICE: &str = "is encrypted with OpenPGP; decrypt it first: gpg -d FILE | ketcd -f - …";
const OPENSSL_ADVICE: &str = "is encrypted with `openssl enc`; decrypt it first with the cipher and password it was made with";
const LFS_ADVICE: &str = "is a pointer of git-lfs, not the file itself; run `git lfs pull` where it is checked out";
const HTML_ADVICE: &str =
    "is a page of HTML, not a backup: most likely the error or login page of the server it was downloaded from; download it again";
const XML_ADVICE: &str = "is XML, not a backup, and is not read; name the backup itself";
const BUCKET_ADVICE: &str = "is XML, not a backup: most likely the error of the bucket it was downloaded from; download it again";
const SEVEN_ZIP_ADVICE: &str = "is a 7z archive, which is not read; unpack it (7z x FILE) and name what is in it";
const RAR_ADVICE: &str = "is a RAR archive, which is not read; unpack it and name what is in it";

/// Names of files that are what they are called, not a backup that was downloaded from the wrong place: `event-filter.html` of a must-gather.
const PAGE_SUFFIXES: [&str; 4] = [".html", ".htm", ".xhtml", ".xml"];

/// What a file begins with, and what to say. Letters count whatever their case.
const FILE_BEGINNINGS: [(&[u8], &str); 12] = [
    (b"age-encryption.org/v1\n", AGE_ADVICE),
    (b"-----BEGIN AGE ENCRYPTED FILE-----", AGE_ADVICE),
    (b"-----BEGIN PGP MESSAGE-----", PGP_ADVICE),
    (b"Salted__", OPENSSL_ADVICE),
    (b"version https://git-lfs.github.com/spec/v1", LFS_ADVICE),
    (b"<!DOCTYPE html", HTML_ADVICE),
    (b"<html", HTML_ADVICE),
    (b"<head>", HTML_ADVICE),
    (b"<?xml", XML_ADVICE),
    (b"<Error>", BUCKET_ADVICE),
    (b"7z\xbc\xaf\x27\x1c", SEVEN_ZIP_ADVICE),
    (b"Rar!\x1a\x07", RAR_ADVICE),
];

const PEBBLE_ADVICE: &str = "is a store of Pebble or RocksDB, not of etcd, and is not read";

/// Files that a folder of another database holds, by their names or, with a star, by what these begin with, and what to say.
const FOLDER_NAMES: [(&[&str], &str); 4] = [
    (
        &["metadata1"],
        "is dqlite's folder (MicroK8s, Canonical Kubernetes) without its snapshots and segments; copy the whole folder of the stopped node",
    ),
    (
        &["meta.inf", "meta.sum"],
        "is a stream of NATS JetStream, which kine can keep its table in and ketcd does not read; use what kubectl prints",
    ),
    (&["CURRENT", "MANIFEST-*"], PEBBLE_ADVICE),
    // Since format 2 of Pebble (`vfs/atomicfs/marker.go`).
    (&["marker.manifest.*", "MANIFEST-*"], PEBBLE_ADVICE),
];

/// Says that a folder is of another database, by the names of the files in it.
pub(super) fn of_folder<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Option<&'static str> {
    let is_there = |wanted: &&str| match wanted.strip_suffix('*') {
        Some(series) => names.clone().any(|name| name.starts_with(series)),
        None => names.clone().any(|name| name == *wanted),
    };
    FOLDER_NAMES.iter().find(|(wanted, _)| wanted.iter().all(&is_there)).map(|(_, said)| *said)
}

/// Whether a file is a page, and called so: nobody meant it to be read.
pub(super) fn is_called_so(name: &str, bytes: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    PAGE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) && matches!(recognised(bytes), Some(HTML_ADVICE | XML_ADVICE | BUCKET_ADVICE))
}

/// Says that a file is none that can be opened; `None` where nothing shows that.
pub(super) fn recognised(bytes: &[u8]) -> Option<&'static str> {
    if let Some(said) = audit_text::as_yaml(bytes) {
        return Some(said);
    }
    let head = &bytes[..bytes.len().min(PROBED_BYTES)];
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text = head.trim_ascii_start();
    let begins = |(start, _): &&(&[u8], &str)| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    let said = FILE_BEGINNINGS.iter().find(begins).map(|(_, said)| *said);
    // What buckets answer with has this element (Amazon S3, Error Responses; Azure and Google answer alike).
    let is_of_bucket = said == Some(XML_ADVICE) && memchr::memmem::find(text, b"<Error>").is_some();
    said.map(|said| if is_of_bucket { BUCKET_ADVICE } else { said }).or_else(|| is_openpgp(head).then_some(PGP_ADVICE))
}

/// Whether bytes begin with a session key encrypted to somebody, or to a password, as messages do (RFC 9580, 5.1 and 5.3).
fn is_openpgp(head: &[u8]) -> bool {
    let (tag, content) = match head {
        // A length of one, two or four bytes.
        [tag @ (0x84 | 0x8c), _, content @ ..] | [tag @ (0x85 | 0x8d), _, _, content @ ..] => (*tag >> 2 & 15, content),
        [tag @ (0xc1 | 0xc3), length, content @ ..] if *length < 192 => (*tag & 15, content),
        [tag @ (0xc1 | 0xc3), _, _, content @ ..] => (*tag & 15, content),
        _ => return false,
    };
    const TO_SOMEBODY: u8 = 1;
    match (tag, content) {
        // The version, a key's id, and its algorithm.
        (TO_SOMEBODY, [3, _, _, _, _, _, _, _, _, algorithm, ..]) => matches!(algorithm, 1..=3 | 16..=18 | 25 | 26),
        (TO_SOMEBODY, _) => false,
        // The version, a cipher, and how the password becomes a key.
        (_, [4, cipher, way, ..]) => (1..=13).contains(cipher) && matches!(way, 0 | 1 | 3 | 4),
        (_, [version, ..]) => matches!(version, 5 | 6),
        (_, []) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_called_so, of_folder, recognised};

    #[test]
    fn folders_of_other_databases_are_named() {
        for (names, wanted) in [
            (&["MANIFEST-000001", "marker.manifest.000001.MANIFEST-000001", "000004.log"][..], "Pebble"),
            (&["CURRENT", "MANIFEST-000001"], "Pebble"),
            (&["meta.inf", "1.blk", "meta.sum"], "NATS"),
            (&["metadata1"], "dqlite"),
        ] {
            assert!(of_folder(names.iter().copied()).unwrap_or_default().contains(wanted), "{wanted}");
        }
        assert_eq!(of_folder(["CURRENT", "meta.inf", "MANIFEST"].into_iter()), None);
    }

    #[test]
    fn a_page_that_is_called_so_is_no_failed_backup() {
        assert!(is_called_so("event-filter.html", b"<!DOCTYPE html><html>"));
        assert!(!is_called_so("backup.db", b"<!DOCTYPE html><html>") && !is_called_so("pods.html", b"{}"));
    }

    #[test]
    fn each_is_named_with_what_to_do() {
        for (bytes, wanted) in [
            (&b"age-encryption.org/v1\n-> X25519 abc\n"[..], "age -d"),
            (b"\xef\xbb\xbf-----BEGIN PGP MESSAGE-----\n\nhF4D", "gpg -d"),
            (b"\x85\x02\x0c\x03\x01\x02\x03\x04\x05\x06\x07\x08\x01\x10\x00", "gpg -d"),
            (b"\x8c\x0d\x04\x09\x03\x02\x11\x22\x33\x44\x55\x66\x77\x88\xff", "gpg -d"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "git lfs pull"),
            (b"\n<!doctype HTML><html>", "HTML"),
            (b"<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code></Error>", "error of the bucket"),
            (b"<?xml version=\"1.0\"?>\n<busconfig/>", "is XML, not a backup, and is not read"),
            (b"7z\xbc\xaf\x27\x1c\0\x04", "7z x"),
        ] {
            let said = recognised(bytes).unwrap_or_default();
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
        for bytes in [&b""[..], b"{}", b"apiVersion: v1\n", b"\x85\x02\x0c", b"\0\0\0\0", b"version: 1"] {
            assert_eq!(recognised(bytes), None);
        }
    }
}
