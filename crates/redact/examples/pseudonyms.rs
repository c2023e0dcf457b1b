//! Prints what becomes of some names: `cargo run -p ketcd-redact --example pseudonyms -- web-0 data-web-0`.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example prints")]

use ketcd_redact::{Choice, Redactor};
use serde_json::json;

fn main() {
    let mut redactor = Redactor::new(Choice::parse("names").unwrap(), b"a salt of one's own", &[]);
    for name in std::env::args().skip(1) {
        let key = format!("/registry/pods/shop/{name}");
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}});
        redactor.learn(&key, &pod);
        println!("{key} {}", redactor.key(&key));
    }
}

#[test]
fn it_runs() {
    main();
}
