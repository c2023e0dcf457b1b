//! Writes the etcd database of a made-up cluster of any size, in the shape of a large real one: what it holds follows from the number of pods and
//! a seed alone. It takes no more heap than some numbers for each node.

mod cluster;
mod objects;

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::Path;

use ketcd_kube::{Release, encode};
use serde_json::Value;
use sha2::{Digest, Sha256};

use cluster::Shape;
use ketcd_testing::etcd_file::{EtcdFile, Record, Tree};

/// What was written.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// How many nodes the cluster has.
    pub nodes: usize,
    /// The newest revision.
    pub revision: i64,
}

/// Writes a snapshot of a cluster of this many pods, with its checksum.
///
/// # Errors
/// The file system's.
pub fn write(pods: usize, seed: u64, path: &Path) -> io::Result<Written> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    let shape = Shape::of(pods);
    let mut database = Database { file: EtcdFile::new(BufWriter::with_capacity(1 << 20, file))?, keys: Tree::new(0), revision: 1 };
    cluster::write(&shape, seed, &mut database)?;
    let Database { mut file, keys, revision } = database;
    let keys = keys.finish(&mut file)?;
    let mut meta = Tree::new(0);
    meta.push(b"consistent_index", &revision.to_be_bytes(), &mut file)?;
    let meta = meta.finish(&mut file)?;
    let mut file = file.finish(&[("key", keys), ("meta", meta)])?.into_inner().map_err(io::IntoInnerError::into_error)?;
    append_checksum(&mut file)?;
    Ok(Written { nodes: shape.nodes, revision })
}

/// What `etcdctl snapshot save` appends to a database.
fn append_checksum(file: &mut File) -> io::Result<()> {
    file.rewind()?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut piece)? {
            0 => break,
            length => hash.update(&piece[..length]),
        }
    }
    file.write_all(&hash.finalize())
}

/// The database while it is written.
struct Database {
    file: EtcdFile<BufWriter<File>>,
    keys: Tree,
    revision: i64,
}

/// Where the versions of a key are.
#[derive(Clone, Copy, Debug, Default)]
struct Versions {
    created: i64,
    count: i64,
}

impl Database {
    /// The revision of the next write.
    fn next(&self) -> i64 {
        self.revision + 1
    }

    /// Writes a version of an object; `known`: the versions before it.
    fn put(&mut self, key: &str, object: &Value, known: Versions) -> io::Result<Versions> {
        let value = encode(object, Release::default()).map_err(io::Error::other)?;
        let value = value.ok_or_else(|| io::Error::other(format!("{key} has no protobuf")))?;
        self.revision += 1;
        let created = if known.count == 0 { self.revision } else { known.created };
        let record = Record {
            key: key.as_bytes(),
            value: Some(&value),
            create_revision: created,
            mod_revision: self.revision,
            sub_revision: 0,
            version: known.count + 1,
            lease: 0,
        };
        self.keys.push(&record.revision(), &record.message(), &mut self.file)?;
        Ok(Versions { created, count: known.count + 1 })
    }
}
