//! A client of `ketcd mcp`: lines of JSON-RPC on its standard streams.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::ketcd::ketcd;

/// What a request of the newer lifecycle carries.
pub(super) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A server on a file, and its one client.
pub(super) struct Client {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl Client {
    /// Starts a server with flags before the command and after it. It runs in a folder.
    pub(super) fn start(file: &Path, folder: &Path, flags: &[&str], of_mcp: &[&str]) -> Self {
        let mut command = ketcd();
        command.current_dir(folder).arg("-f").arg(file).args(flags).arg("mcp").args(of_mcp);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        Self { process, input, output, number: 0 }
    }

    /// Starts a server and begins as clients of the older lifecycle do.
    pub(super) fn begun(file: &Path) -> Self {
        let mut client = Self::start(file, Path::new("."), &[], &[]);
        client.initialize();
        client
    }

    /// Begins as clients of the older lifecycle do; returns what the server says of itself.
    pub(super) fn initialize(&mut self) -> Value {
        let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let answer = self.request("initialize", client)["result"].clone();
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Sends bytes as they are.
    pub(super) fn send_raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Asks, and waits for the answer.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let number = self.number;
        self.send(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server ended at {method} {params}");
            let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if answer["id"] == number {
                return answer;
            }
        }
    }

    /// Calls a tool; returns the texts of its blocks, and whether it was refused.
    pub(super) fn call(&mut self, name: &str, arguments: Value) -> (Vec<String>, bool) {
        let answer = self.request("tools/call", json!({"name": name, "arguments": arguments}));
        let result = &answer["result"];
        assert!(result["structuredContent"].is_null(), "{name}: {answer}");
        let blocks = result["content"].as_array().unwrap_or_else(|| panic!("{name}: {answer}"));
        (blocks.iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect(), result["isError"] == true)
    }

    /// Calls a tool that answers; returns all that it says.
    #[track_caller]
    pub(super) fn told(&mut self, name: &str, arguments: Value) -> String {
        let (blocks, is_refused) = self.call(name, arguments.clone());
        assert!(!is_refused, "{name} {arguments}: {blocks:?}");
        blocks.join("\n")
    }

    /// Ends the input, and waits for the server to end; returns its exit code.
    pub(super) fn end(mut self) -> Option<i32> {
        self.input = None;
        self.process.wait().unwrap().code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
