//! A limit is a limit of the whole: whatever an archive holds, how deep, how often and however it lies, what is unpacked of it, held and worked on stays
//! below the limits, and what is left out for them is said. A counting allocator measures what is held.

use std::io::{Read, Write};

use ketcd_store::load::{self, FileLimits, Limits};
use ketcd_testing::heap;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[global_allocator]
static COUNTING: heap::Counting = heap::Counting;

const MIB_BYTES: u64 = 1 << 20;

/// Limits that a few hundred KB can reach.
fn limits() -> Limits {
    Limits {
        unpacked: 4 * MIB_BYTES,
        bounds: FileLimits { heap: MIB_BYTES, index: 2 * MIB_BYTES, looks: 4 * MIB_BYTES },
        ..Limits::default()
    }
}

/// What may be on the heap: what is kept there, indexes, two pieces of 32 MiB of objects, pieces on their way and the state of compressions.
const MAX_HEAP_BYTES: usize = 160 << 20;

/// What an archive is made of.
#[derive(Clone, Debug)]
enum Part {
    Zeros(usize),
    /// An object with so much text in it.
    Object(usize),
    /// This many small objects.
    Objects(usize),
    /// What begins as a packed audit log, and continues with zeros.
    PackedLog(usize),
    Tar(Vec<Part>),
    Zip(Vec<Part>, Lie),
    Packed(Packing, Box<Part>),
}

/// What a zip archive says that is not so.
#[derive(Clone, Copy, Debug)]
enum Lie {
    None,
    /// Its list names each entry so often.
    Often(usize),
    /// Sizes are others.
    Size(u32),
    /// It has no list, and sizes are behind their entries.
    Cut,
}

#[derive(Clone, Copy, Debug)]
enum Packing {
    Gzip,
    Zstd,
    Bzip2,
}

fn packed(packing: Packing, bytes: &[u8]) -> Vec<u8> {
    match packing {
        Packing::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Packing::Zstd => zstd::encode_all(bytes, 1).unwrap(),
        Packing::Bzip2 => {
            let mut packed = Vec::new();
            bzip2::read::BzEncoder::new(bytes, bzip2::Compression::best()).read_to_end(&mut packed).unwrap();
            packed
        }
    }
}

fn object(name: usize, text: usize) -> Vec<u8> {
    let metadata = format!(r#"{{"name":"c{name}","namespace":"x","resourceVersion":"5"}}"#);
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{metadata},"data":{{"k":"{}"}}}}"#, "v".repeat(text)).into_bytes()
}

fn tar(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, name, &bytes[..]).unwrap();
    }
    archive.into_inner().unwrap()
}

fn zip(entries: &[(String, Vec<u8>)], lie: Lie) -> Vec<u8> {
    let (mut archive, mut list, mut count) = (Vec::new(), Vec::new(), 0_u16);
    let behind = matches!(lie, Lie::Cut);
    for (name, bytes) in entries {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        let (packed, start) = (encoder.finish().unwrap(), archive.len() as u32);
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let size = if let Lie::Size(size) = lie { size } else { bytes.len() as u32 };
        let numbers = if behind { [0; 3] } else { [crc.sum(), packed.len() as u32, size] };
        let common = |name: &str| {
            let mut common: Vec<u8> = [u16::from(behind) * 8, 8, 0, 0].iter().flat_map(|number| number.to_le_bytes()).collect();
            common.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            common.extend((name.len() as u16).to_le_bytes());
            common.extend([0; 2]);
            common
        };
        archive.extend([b"PK\x03\x04\x14\x00", &common(name)[..], name.as_bytes(), &packed].concat());
        for number in 0..if let Lie::Often(times) = lie { times } else { 1 } {
            let name = format!("{number}-{name}");
            list.extend([b"PK\x01\x02\x14\x03\x14\x00", &common(&name)[..], &[0; 6], &(0o100_644_u32 << 16).to_le_bytes()].concat());
            list.extend([&start.to_le_bytes()[..], name.as_bytes()].concat());
            count += 1;
        }
    }
    if !behind {
        let (count, start) = (count.to_le_bytes(), archive.len() as u32);
        archive.extend(&list);
        let end = [&(list.len() as u32).to_le_bytes()[..], &start.to_le_bytes(), &[0; 2]].concat();
        archive.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &end].concat());
    }
    archive
}

impl Part {
    fn bytes(&self) -> Vec<u8> {
        let named = |parts: &[Self]| {
            let named = |(number, part): (usize, &Self)| (format!("{number}.{}", part.suffix()), part.bytes());
            parts.iter().enumerate().map(named).collect::<Vec<_>>()
        };
        match self {
            Self::Zeros(length) => vec![0; *length],
            Self::Object(length) => object(1, *length),
            Self::Objects(count) => (0..*count).flat_map(|name| [object(name, 1), b"\n".to_vec()].concat()).collect(),
            Self::PackedLog(length) => {
                let log = br#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a","stage":"ResponseComplete"}"#;
                [packed(Packing::Gzip, log), vec![0; *length]].concat()
            }
            Self::Tar(parts) => tar(&named(parts)),
            Self::Zip(parts, lie) => zip(&named(parts), *lie),
            Self::Packed(packing, part) => packed(*packing, &part.bytes()),
        }
    }

    fn suffix(&self) -> &'static str {
        match self {
            Self::Zeros(_) => "bin",
            Self::Object(_) | Self::Objects(_) => "json",
            Self::PackedLog(_) => "log",
            Self::Tar(_) => "tar",
            Self::Zip(..) => "zip",
            Self::Packed(..) => "x",
        }
    }
}

fn parts() -> impl Strategy<Value = Part> {
    const MAX_PART_BYTES: usize = 3 << 20;
    let leaf = prop_oneof![
        (0..MAX_PART_BYTES).prop_map(Part::Zeros),
        (0..MAX_PART_BYTES / 2).prop_map(Part::Object),
        (1_usize..8000).prop_map(Part::Objects),
        (0..MAX_PART_BYTES).prop_map(Part::PackedLog),
    ];
    let lie = prop_oneof![Just(Lie::None), (2_usize..300).prop_map(Lie::Often), any::<u32>().prop_map(Lie::Size), Just(Lie::Cut)];
    let packing = prop_oneof![Just(Packing::Gzip), Just(Packing::Zstd), Just(Packing::Bzip2)];
    leaf.prop_recursive(4, 24, 6, move |inner| {
        let several = prop::collection::vec(inner.clone(), 1..6);
        prop_oneof![
            several.clone().prop_map(Part::Tar),
            (several, lie.clone()).prop_map(|(parts, lie)| Part::Zip(parts, lie)),
            (packing.clone(), inner).prop_map(|(packing, part)| Part::Packed(packing, Box::new(part))),
        ]
    })
}

/// Reads all of a file as a command does: its audit logs, and what else it is. Returns what is said of it.
fn read(bytes: &[u8], limits: &Limits) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let paths = [file.path().to_str().unwrap().to_owned()];
    let key_of = |object: &serde_json::Value| Some(object["metadata"]["name"].as_str()?.as_bytes().to_vec());
    let found = match load::AuditLogs::among(&paths, limits) {
        Ok(found) => found,
        Err(error) => return error.to_string(),
    };
    let mut said = String::new();
    let mut each = |_: &str, stream: &mut dyn Read| {
        if let Err(error) = std::io::copy(stream, &mut std::io::sink()) {
            said = error.to_string();
        }
    };
    if let Err(error) = found.logs.read(&mut each) {
        return error.to_string();
    }
    match (found.others.is_empty(), load::open_within(&found.others, limits, &key_of)) {
        (true, _) => said,
        (false, Ok(source)) => said + &source.damage().join("\n"),
        (false, Err(error)) => said + &error.to_string(),
    }
}

/// Holds what reading took against the limits; returns what was said.
fn held(bytes: &[u8]) -> String {
    let limits = limits();
    let mut said = String::new();
    let (_, heap) = heap::peak(|| {
        said = read(bytes, &limits);
        1
    });
    let all = bytes.len() as u64;
    assert!(heap < MAX_HEAP_BYTES, "{heap} bytes of heap for {all}: {said}");
    assert!(limits.spent.most_unpacked() <= limits.unpacked, "{} bytes unpacked: {said}", limits.spent.most_unpacked());
    // A file that is opened, and looked into for audit logs before, counts for each time.
    let most = limits.unpacked + limits.bounds.looks + 8 * (256 + 64) * all;
    assert!(limits.spent.worked() <= most, "{} bytes of work for {all}: {said}", limits.spent.worked());
    said
}

/// One test, as the counts are of the whole process.
#[test]
fn whatever_an_archive_holds_it_takes_no_more_than_the_limits() {
    let name = |number: usize, suffix: &str| format!("{number}.{suffix}");
    let many =
        |count: usize, suffix: &str, bytes: &[u8]| (0..count).map(|number| (name(number, suffix), bytes.to_vec())).collect::<Vec<_>>();
    let log = Part::PackedLog(300 << 20);
    let inner = packed(Packing::Zstd, &tar(&[("zeros".to_owned(), vec![0; 2 << 20])]));
    let small = packed(Packing::Bzip2, &vec![0; 40 << 20]);
    let objects = Part::Objects(4500).bytes();
    let cases = [
        // A packed audit log that continues with zeros; archives of which each is within the limit, and not all together.
        ("raise --max-unpacked-size", zip(&[("audit.log.gz".to_owned(), log.bytes())], Lie::None)),
        ("raise --max-unpacked-size", packed(Packing::Zstd, &tar(&many(8, "tar.zst", &inner)))),
        // Entries that are one and the same; many small ones that take long to look at; more objects than there is memory for.
        ("whose entries overlap", zip(&[("a.yaml".to_owned(), object(1, 1 << 20))], Lie::Often(1000))),
        ("seeing what is in it needs", packed(Packing::Zstd, &tar(&many(2000, "bin", &small)))),
        ("an index of it takes more", packed(Packing::Zstd, &tar(&many(2, "json", &objects)))),
        // Sizes that are behind what they are of.
        ("seeing what is in it needs", zip(&[("zeros".to_owned(), vec![0; 300 << 20])], Lie::Cut)),
    ];
    for (wanted, bytes) in cases {
        let said = held(&bytes);
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    runner
        .run(&parts(), |part| {
            held(&part.bytes());
            Ok(())
        })
        .unwrap();
}
