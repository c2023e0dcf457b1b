//! Lays out the folder that the documentation works in: `tools/playground DIR`.

#![expect(clippy::print_stdout, reason = "it is a command")]

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("usage: playground DIR"));
    std::fs::create_dir_all(&folder)?;
    for name in ketcd_testing::playground::lay_out(&folder)? {
        println!("{}", folder.join(name).display());
    }
    Ok(())
}
