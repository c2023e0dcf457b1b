//! Prints an object of JSON as YAML: `kubectl get pod web-0 -o json | cargo run -p ketcd-render --example yaml`.

use std::error::Error;
use std::io;

use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let object: Value = serde_json::from_reader(io::stdin())?;
    ketcd_render::yaml::write(&object, &mut io::stdout())?;
    Ok(())
}
