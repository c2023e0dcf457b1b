//! `decode KEY <VALUE`: a stored value as JSON.

use std::io::{self, Read};

use ketcd_kube::{Body, Decoder, Release};

fn main() -> io::Result<()> {
    let key = std::env::args().nth(1).unwrap_or_default();
    let mut value = Vec::new();
    io::stdin().read_to_end(&mut value)?;
    match Decoder::new().with_release(Release(34)).decode(key.as_bytes(), &value, 0).body {
        Body::Object(object) => println!("{}", *object),
        Body::Opaque(opaque) => eprintln!("cannot be decoded: {}", opaque.reason),
    }
    Ok(())
}
