//! Prints which server a kubeconfig leads to: `cargo run --example kubeconfig`.

#![allow(clippy::print_stdout, reason = "an example is a program: it prints")]

use std::env;

use ketcd_api_server::Access;

fn main() {
    match Access::load(None, None, &|name| env::var(name).ok()) {
        Ok(access) => println!("{}: {}", access.name(), access.server()),
        Err(error) => println!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_runs() {
        super::main();
    }
}
