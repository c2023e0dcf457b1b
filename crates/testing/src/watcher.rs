//! A command that continues, as `ketcd watch` does, and what it prints meanwhile.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

/// A running command with the lines of its standard output and error.
pub struct Watching {
    child: Child,
    /// When it was run.
    pub begun: Instant,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    /// What was received of standard error.
    heard: String,
}

impl Watching {
    /// Runs a command that continues.
    pub fn run(command: &mut Command) -> Self {
        let begun = Instant::now();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        Self { child, begun, stdout, stderr, heard: String::new() }
    }

    /// The next line on standard output.
    pub fn line(&self) -> String {
        self.stdout.recv().expect("the watch prints another line")
    }

    /// Waits until a line on standard error holds `text`; returns the line.
    pub fn says(&mut self, text: &str) -> String {
        while let Ok(line) = self.stderr.recv() {
            self.heard.extend([line.as_str(), "\n"]);
            if line.contains(text) {
                return line;
            }
        }
        panic!("{text:?} is not said: {}", self.heard);
    }

    /// Ends it; returns all that it printed on standard error.
    pub fn end(mut self) -> String {
        let _ = self.child.kill();
        self.child.wait().unwrap();
        let rest: Vec<String> = self.stderr.iter().collect();
        format!("{}{}", self.heard, rest.join("\n"))
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    lines
}
