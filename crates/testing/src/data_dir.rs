//! A recorded member's data dir, unpacked.

use std::fs;

use tempfile::TempDir;

use crate::testdata;

/// Unpacks the data dir of a recorded member: an archive below `testdata/captures`.
pub fn data_dir(name: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let tar = testdata::read(&format!("captures/{name}"));
    let text = |field: &[u8]| String::from_utf8(field.split(|&byte| byte == 0).next().unwrap().to_vec()).unwrap();
    let mut at = 0;
    while tar[at] != 0 {
        let header = &tar[at..at + 512];
        let size = usize::from_str_radix(text(&header[124..136]).trim(), 8).unwrap();
        let path = directory.path().join(text(&header[..100]));
        if header[156] == b'5' {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &tar[at + 512..at + 512 + size]).unwrap();
        }
        at += 512 + size.next_multiple_of(512);
    }
    directory
}
