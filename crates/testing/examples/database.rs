//! Writes etcd's database with one key in it: `cargo run -p ketcd-testing --example database -- FILE`.

use std::error::Error;
use std::fs::File;

use ketcd_testing::etcd_file::{EtcdFile, Record, Tree};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: database FILE")?;
    let mut file = EtcdFile::new(File::create(path)?)?;
    let value = Some(&b"{}"[..]);
    let record =
        Record { key: b"/registry/pods/shop/web-0", value, create_revision: 2, mod_revision: 2, sub_revision: 0, version: 1, lease: 0 };
    let mut keys = Tree::new(0);
    keys.push(&record.revision(), &record.message(), &mut file)?;
    let keys = keys.finish(&mut file)?;
    file.finish(&[("key", keys)])?;
    Ok(())
}
