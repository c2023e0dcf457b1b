//! Databases cut short or damaged, and files of other kinds: what is left is shown, and the damage named.

use std::io::Write;
use std::path::Path;

use ketcd_store::{Error, Event, Origin, load};

use super::{capture, decompressed, events, open, open_file, status, wait};

/// Opens what is left of a file: an error, or some of its changes and no others, with damage reported. Returns how many.
fn left_of(bytes: &[u8], all: &[Event]) -> usize {
    let source = match open_file(bytes) {
        Ok(source) => source,
        Err(Error::Format { problem, .. }) => {
            let expected = ["truncated: ", "is empty", "meta", "is neither an etcd database", "cut short"];
            assert!(expected.iter().any(|text| problem.contains(text)), "{} bytes: {problem}", bytes.len());
            return 0;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(source.damage().iter().any(|damage| damage.contains("truncated: ") || damage.contains("cut short")), "{:?}", source.damage());
    let left = events(&*source);
    let is_true = |event: &Event| {
        let truth = all.binary_search_by_key(&(event.revision, event.sub_revision), |truth| (truth.revision, truth.sub_revision)).unwrap();
        event.key_value == all[truth].key_value
    };
    assert!(left.iter().all(is_true));
    left.len()
}

#[test]
fn a_database_cut_short_anywhere_gives_what_is_left() {
    let whole = decompressed("k120-story/snapshot.db.zst");
    let all = events(&*open_file(&whole).unwrap());
    let left: Vec<usize> = (0..100).map(|n| left_of(&whole[..whole.len() * n / 100], &all)).collect();
    assert!(left[50] > 700 && left[90] > 1400 && left[99] > 1700, "{left:?}");
}

#[test]
fn a_compressed_file_cut_short_gives_what_is_left() {
    let name = "k120-story/snapshot.db.zst";
    let (plain, zstd) = (decompressed(name), std::fs::read(capture(name)).unwrap());
    let all = events(&*open_file(&plain).unwrap());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    for packed in [zstd, gzip.finish().unwrap()] {
        let left: Vec<usize> = (1..20).map(|n| left_of(&packed[..packed.len() * n / 20], &all)).collect();
        assert!(left[9] > 500 && left[18] > 1400, "{left:?}");
    }
}

#[test]
fn broken_meta_pages_are_reported() {
    let whole = decompressed("k120-story/compacted.db.zst");
    for page in [0, 1] {
        let mut broken = whole.clone();
        broken[page * 4096 + 16 + 20] ^= 0xff;
        let status = wait(open_file(&broken).unwrap().status()).unwrap();
        assert!(status.problems[0].starts_with(&format!("meta page {page} is broken")), "{:?}", status.problems);
        assert!(status.problems.last().unwrap().starts_with("the SHA-256 at its end does not match"), "{:?}", status.problems);
    }
    for wipe in [8..100, 0..8192] {
        let mut broken = whole.clone();
        broken[wipe.clone()].fill(0);
        broken[4096 + 8..4096 + 100].fill(0);
        let source = open_file(&broken).unwrap();
        assert!(source.damage()[0].contains("both meta pages are broken"), "{:?}", source.damage());
        assert!(events(&*source).iter().all(|event| event.origin == Origin::FreePage));
    }
}

#[test]
fn what_is_no_database_is_refused() {
    for bytes in [&b""[..], b"hello", b"\0\0\0\0", &[0xff; 9000], &[0; 100_000], b"PK\x03\x04........................"] {
        let error = open_file(bytes).err().unwrap();
        assert!(matches!(error, Error::Format { .. }), "{error}");
    }
    assert!(matches!(open(&[Path::new("/no/such/file")]).err().unwrap(), Error::File { .. }));
}

/// What nothing is known of is not unpacked to its end, which may be very far.
#[test]
fn a_compressed_file_of_nothing_known_is_refused_by_its_beginning() {
    let limits = load::Limits { unpacked: 64 << 20, ..load::Limits::default() };
    for filling in [0, 1] {
        let much = vec![filling; 65 << 20];
        let packed = zstd::encode_all(&[&[0; 5000], &much[..]].concat()[..], 1).unwrap();
        let error = load::open_bytes("bomb", packed.into(), &limits, &|_| None).err().unwrap().to_string();
        assert!(error.ends_with("is neither an etcd database nor API objects, plain or compressed"), "{error}");
    }
    // A text may be objects, as far as the limit goes; a database that has lost its beginning is found behind it.
    let spaces = zstd::encode_all(&vec![b' '; 65 << 20][..], 1).unwrap();
    let error = load::open_bytes("spaces", spaces.into(), &limits, &|_| None).err().unwrap().to_string();
    assert!(error.contains("--max-unpacked-size"), "{error}");
    let mut db = decompressed("k136-story/snapshot.db.zst");
    db[..2 << 20].fill(0);
    let source = open_file(&zstd::encode_all(&db[..], 1).unwrap()).unwrap();
    assert!(source.damage()[0].contains("both meta pages are broken"), "{:?}", source.damage());
}

/// `zstd --long=31` asks for 2 GiB: what undoes it is said.
#[test]
fn a_zstd_file_that_asks_for_much_memory_is_refused_with_the_way_out() {
    let frame = [&b"\x28\xb5\x2f\xfd\x00\xa8"[..], &(5_u32 << 3 | 1).to_le_bytes()[..3], b"hello"].concat();
    let error = load::open_bytes("long.zst", frame.into(), &load::Limits::default(), &|_| None).err().unwrap().to_string();
    assert!(error.contains("asks for more than 256 MiB of memory; decompress it first (zstd -d --long=31 FILE)"), "{error}");
}

/// Damage in the middle of a file costs what it hit and never more, and is reported.
#[test]
fn damage_is_reported_and_the_rest_is_read() {
    let whole = decompressed("k120-story/snapshot.db.zst");
    let all = events(&*open_file(&whole).unwrap());
    let mut lost_some = 0;
    for page in (2..whole.len() / 4096).step_by(29) {
        let mut broken = whole.clone();
        broken[page * 4096..page * 4096 + 64].fill(0xa5);
        let Ok(source) = open_file(&broken) else { continue };
        let read = events(&*source);
        let problems = status(&*source).problems;
        assert!(!problems.is_empty(), "page {page}");
        let lost = all.len() - read.len();
        if lost > 0 {
            lost_some += 1;
            assert!(problems.len() > 1, "page {page} cost {lost} changes and only the checksum shows it");
            assert!(lost < 400, "page {page} cost {lost} changes");
        }
    }
    assert!(lost_some > 2, "{lost_some}");
}
