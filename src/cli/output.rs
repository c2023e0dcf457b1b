//! The process's own streams: the only place that prints.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use terminal_size::{Height, Width, terminal_size, terminal_size_of};

use super::invocation::invocation;
use super::pager::{self, Paged, Size};
use super::system::closed;
use super::{Error, Result, called, progress};
use ketcd_kube::nearest;
use ketcd_render::fit;
use ketcd_render::style::{Content, Screen, StyledWrite};
use ketcd_render::visible::visible;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Standard output, buffered. Renderers write to it as to any [`Write`]; what is written is shown as [`Content`] says.
pub(super) struct Output {
    /// Buffered on both sides: the screen looks at much text at once, and the terminal gets much at once.
    stream: BufWriter<Screen<Paged<BufWriter<io::Stdout>>>>,
    is_terminal: bool,
    /// Whether it is a pipe, whose reader may write to the same terminal as we do, and may go.
    is_pipe: bool,
    /// How many bytes were written into the pipe.
    piped: usize,
    /// Whether anything was written.
    has_begun: bool,
    /// Whether progress is shown no more.
    is_alone: bool,
    /// Whether progress stays on the screen while something is written.
    is_beside: bool,
    width: Option<usize>,
    /// Where text is broken: at the columns that `COLUMNS` asks for, else at the terminal's.
    edge: Option<usize>,
    /// Whether lines are broken that are wider than that.
    folds: bool,
    /// The beginning of a line that may have to be broken.
    line: Vec<u8>,
    /// Whether it may go through a pager.
    is_paged: bool,
}

/// Bytes that are gathered.
const BUFFER: usize = 1 << 16;

/// The bytes that a pipe gets at once at the beginning: `head` takes what it wants of them, and goes.
const AT_ONCE: usize = 1 << 12;

/// The bytes after which a pipe gets as much at once as a file.
const EAGER: usize = 1 << 17;

impl Output {
    /// Opens standard output.
    pub(super) fn new(color: Color) -> Self {
        let stdout = io::stdout();
        let choice = match color {
            Color::Auto => AutoStream::choice(&stdout),
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        let is_terminal = stdout.is_terminal();
        let columns = terminal(&stdout, terminal_size()).map(|size| size.columns);
        let edge = columns_asked().or(columns);
        let stdout = Paged::new(BufWriter::with_capacity(BUFFER, stdout));
        let stream = Screen::new(stdout, is_terminal, choice != ColorChoice::Never);
        Self {
            stream: BufWriter::with_capacity(BUFFER, stream),
            is_terminal,
            is_pipe: closed::is_pipe(),
            piped: 0,
            has_begun: false,
            is_alone: false,
            is_beside: false,
            width: columns.and(edge),
            edge,
            folds: false,
            line: Vec::new(),
            is_paged: false,
        }
    }

    /// Shows what is longer than the terminal through a pager. Asked before anything is written.
    pub(super) fn page(&mut self) {
        if let Some(size) = terminal(&io::stdout(), terminal_size()) {
            self.stream.get_mut().get_mut().page(size);
            self.is_paged = true;
        }
    }

    /// Writes a part of the answer that is known already, and shows it at once; progress is shown further.
    ///
    /// # Errors
    /// The stream's.
    pub(super) fn write_part(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        let mut written = Ok(());
        self.is_beside = true;
        progress::beside(|| written = write(self).and_then(|()| self.flush()));
        self.is_beside = false;
        written
    }

    /// Ends the output: what is left is written, and a pager is waited for.
    ///
    /// # Errors
    /// The stream's, or a pager that cannot be run.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let flushed = self.flush();
        // That a pager could not be run says more than its closed pipe.
        self.stream.get_mut().get_mut().end().and(flushed)
    }

    /// Says what is written from now on; text until then. Asked before anything is written.
    pub(super) fn set_content(&mut self, content: Content) {
        debug_assert!(self.stream.buffer().is_empty(), "some output is written already");
        self.stream.get_mut().set_content(content);
    }

    /// Breaks lines that are wider than the terminal from now on, between words: for text, not for tables as kubectl's or documents.
    pub(super) fn fold_lines(&mut self) {
        self.folds = self.edge.is_some();
    }

    /// Writes the line that has come together.
    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        match (self.edge, std::str::from_utf8(&line)) {
            (Some(width), Ok(text)) if self.folds => self.stream.write_all(folded(text, width).as_bytes()),
            _ => self.stream.write_all(&line),
        }
    }

    /// Whether anything was written.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether standard output is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Columns of the terminal, or those that `COLUMNS` asks for there. `None` where the output is no terminal: then nothing is cut.
    pub(super) fn width(&self) -> Option<usize> {
        self.width
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_begun = true;
        // What is written may go out at any moment.
        if (self.is_terminal || self.is_pipe) && !self.is_beside && !std::mem::replace(&mut self.is_alone, true) {
            progress::end();
            if self.is_terminal && self.is_paged {
                // What comes after text is said after it.
                pager::hold_messages();
            }
        }
        let written = self.write_folded(bytes)?;
        if self.is_pipe && self.piped < EAGER {
            let before = self.piped / AT_ONCE;
            self.piped += written;
            if self.piped / AT_ONCE > before {
                self.stream.flush()?;
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_terminal {
            progress::end();
        }
        self.end_line()?;
        self.stream.flush()
    }
}

impl StyledWrite for Output {}

impl Output {
    /// Writes bytes, line by line where lines are broken.
    fn write_folded(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.folds {
            return self.stream.write(bytes);
        }
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let whole = piece.strip_suffix(b"\n");
            self.line.extend_from_slice(whole.unwrap_or(piece));
            if whole.is_some() {
                self.end_line()?;
                self.stream.write_all(b"\n")?;
            }
        }
        Ok(bytes.len())
    }
}

/// The columns that the variable `COLUMNS` asks for.
fn columns_asked() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|&columns: &usize| columns > 0)
}

/// The size that was found of a stream, if that is a terminal.
fn terminal(stream: &impl IsTerminal, found: Option<(Width, Height)>) -> Option<Size> {
    let (width, height) = found.filter(|_| stream.is_terminal())?;
    Some(Size { columns: width.0.into(), rows: height.0.into() })
}

/// What `-o` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Columns for people; the default.
    Table,
    /// More columns.
    Wide,
    /// One JSON document.
    Json,
    /// YAML.
    Yaml,
    /// `kind/name`, one a line.
    Name,
    /// One JSON document a line, each flushed as it comes.
    Ndjson,
    /// YAML of a strict sort, as kubectl prints it since 1.34.
    Kyaml,
    /// kubectl's JSONPath template.
    JsonPath(String),
    /// The same, each expression's values as a JSON list.
    JsonPathAsJson(String),
    /// kubectl's Go template.
    GoTemplate(String),
    /// kubectl's `HEADER:path,…`.
    CustomColumns(String),
    /// The same as a line of headings and a line of paths.
    CustomColumnsFile(String),
    /// The bytes of one value, as they are stored.
    Raw,
    /// Prometheus' text format.
    Metrics,
}

impl Format {
    /// Reads the value of `-o`.
    pub(super) fn parse(text: Option<&str>) -> Result<Self> {
        /// What needs a template, columns or a file behind `=`.
        const WITH_VALUE: [&str; 9] = [
            "custom-columns",
            "custom-columns-file",
            "go-template",
            "go-template-file",
            "jsonpath",
            "jsonpath-as-json",
            "jsonpath-file",
            "template",
            "templatefile",
        ];
        let Some(text) = text else { return Ok(Self::Table) };
        let (name, rest) = text.split_once('=').map_or((text, None), |(name, rest)| (name, Some(rest.to_owned())));
        match (name, rest) {
            ("table", None) => Ok(Self::Table),
            ("wide", None) => Ok(Self::Wide),
            ("json", None) => Ok(Self::Json),
            ("yaml", None) => Ok(Self::Yaml),
            ("kyaml", None) => Ok(Self::Kyaml),
            ("name", None) => Ok(Self::Name),
            ("ndjson" | "jsonl", None) => Ok(Self::Ndjson),
            ("jsonpath", Some(template)) => Ok(Self::JsonPath(template)),
            ("jsonpath-as-json", Some(template)) => Ok(Self::JsonPathAsJson(template)),
            ("custom-columns", Some(columns)) => Ok(Self::CustomColumns(columns)),
            ("go-template" | "template", Some(template)) => Ok(Self::GoTemplate(template)),
            ("jsonpath-file", Some(path)) => template_file(name, &path).map(Self::JsonPath),
            ("go-template-file" | "templatefile", Some(path)) => template_file(name, &path).map(Self::GoTemplate),
            ("custom-columns-file", Some(path)) => template_file(name, &path).map(Self::CustomColumnsFile),
            ("raw", None) => Ok(Self::Raw),
            ("metrics", None) => Ok(Self::Metrics),
            (name, None) if WITH_VALUE.contains(&name) => {
                Err(Error::new(format!("-o {name} needs a value")).hint(format!("write -o {name}=…")))
            }
            (name, _) => Err(unknown_format(text, name, &WITH_VALUE)),
        }
    }

    /// Whether it shows only columns or names, not objects.
    pub(super) fn is_columns(&self) -> bool {
        matches!(self, Self::Table | Self::Wide | Self::Name)
    }

    /// What its output is.
    pub(super) fn content(&self) -> Content {
        match self {
            Self::Table | Self::Wide | Self::Yaml | Self::Kyaml | Self::Name => Content::Text,
            Self::Json | Self::Ndjson | Self::JsonPathAsJson(_) => Content::Json,
            Self::JsonPath(_) | Self::GoTemplate(_) | Self::CustomColumns(_) | Self::CustomColumnsFile(_) | Self::Raw | Self::Metrics => {
                Content::Raw
            }
        }
    }

    /// The error of a command that has no such output.
    pub(super) fn unsupported(&self, command: &str, supported: &str) -> Error {
        let name = match self {
            Self::Table => "table",
            Self::Wide => "wide",
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Kyaml => "kyaml",
            Self::Name => "name",
            Self::Ndjson => "ndjson",
            Self::JsonPath(_) => "jsonpath",
            Self::JsonPathAsJson(_) => "jsonpath-as-json",
            Self::CustomColumns(_) => "custom-columns",
            Self::CustomColumnsFile(_) => "custom-columns-file",
            Self::GoTemplate(_) => "go-template",
            Self::Raw => "raw",
            Self::Metrics => "metrics",
        };
        Error::new(format!("{command} has no output format {name}")).hint(format!("use one of {supported}"))
    }
}

/// The error of a format that does not exist, with the one that is nearest, or all of them.
fn unknown_format(text: &str, name: &str, with_value: &[&'static str]) -> Error {
    const ALONE: [&str; 9] = ["table", "wide", "json", "yaml", "kyaml", "name", "ndjson", "raw", "metrics"];
    let wrong = Error::new(format!("unknown output format {text:?}"));
    let lower = name.to_ascii_lowercase();
    let near = nearest(&lower, ALONE.iter().chain(with_value).map(|known| (*known, *known)));
    if !near.is_empty() {
        let written = |known: &str| if with_value.contains(&known) { format!("{known}=…") } else { known.to_owned() };
        return wrong.hint(format!("did you mean {}?", near.into_iter().map(written).collect::<Vec<_>>().join(" or ")));
    }
    wrong.hint(
        "use one of table, wide, json, yaml, kyaml, name, ndjson, raw, jsonpath=…, jsonpath-as-json=…, jsonpath-file=…, \
         go-template=…, go-template-file=…, custom-columns=…, custom-columns-file=…",
    )
}

/// Reads the template of `-o NAME=FILE`.
fn template_file(name: &str, path: &str) -> Result<String> {
    let failed = |error: &dyn std::fmt::Display| Error::new(format!("-o {name}={path}: {error}"));
    std::fs::read_to_string(path).map_err(|error| failed(&error).hint("name a file with the template, in UTF-8"))
}

/// Writes an error as one line on standard error, and below it the commands that help, each as it is to be copied.
pub(super) fn report_error(error: &Error) {
    progress::end();
    note(&format!("error: {error}"));
    for command in error.commands_to_copy() {
        emit(&format!("    {}", bounded(&visible(command))));
    }
}

/// Writes how ketcd is used on standard error, where clap writes it too when a command is missing.
pub(super) fn report_usage(page: &str) {
    let _ = io::stderr().write_all(page.as_bytes());
}

/// Writes that a panic happened. Nothing is locked, as it may have happened anywhere.
pub(super) fn report_panic(place: &str) {
    let problem = "ketcd panicked: this is a bug in ketcd; please report it with the command and the release";
    let _ = writeln!(io::stderr(), "ketcd: error: {problem}: panicked{place}");
}

/// Writes one line on standard error, whatever data is in it; a closed standard error is nobody's problem. On a terminal a line that is
/// too wide is broken between words, but not the command that a hint ends with: it is there to be copied.
pub(super) fn note(line: &str) {
    let line = format!("ketcd: {}", bounded(&visible(&called::spelled(line))));
    let width = terminal(&io::stderr(), terminal_size_of(io::stderr())).map(|size| columns_asked().unwrap_or(size.columns));
    let line = width.map_or_else(|| line.clone(), |width| folded(&line, width));
    emit(&line);
}

/// Whether both the output and messages go to a terminal.
pub(super) fn are_on_terminal() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal()
}

/// Writes a line of a message as it is; behind text that may be paged, when that has ended.
pub(super) fn emit(line: &str) {
    if !pager::holds(line) {
        progress::beside(|| {
            let _ = writeln!(io::stderr(), "{line}");
        });
    }
}

/// A message of no more characters than anyone reads; of a longer one the middle is left out, as its end says what to do.
fn bounded(line: &str) -> Cow<'_, str> {
    const LONGEST: usize = 2000;
    const END: usize = 400;
    let length = line.chars().count();
    if length <= LONGEST {
        return Cow::Borrowed(line);
    }
    let start: String = line.chars().take(LONGEST - END).collect();
    let end: String = line.chars().skip(length - END).collect();
    Cow::Owned(format!("{start} [… {} characters …] {end}", length - LONGEST))
}

/// A line in lines of `width` columns. A command at its end stays whole, for it is there to be copied: the terminal breaks it and gives it back whole.
fn folded(line: &str, width: usize) -> String {
    let folded = fit::fold(line, width);
    let name = format!("{} ", invocation().program());
    match line.rfind(&name) {
        _ if folded == line => folded,
        Some(at) if line[..at].ends_with(": ") => format!("{}\n    {}", fit::fold(&line[..at - 1], width), &line[at..]),
        // Marks of styles stand before it, and the indent.
        Some(at) if !line[..at].contains(|c: char| c.is_alphanumeric() || c.is_ascii_punctuation()) => line.to_owned(),
        _ => folded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_bounded() {
        assert_eq!(bounded("short"), "short");
        let long = format!("what{}; what to do", "ä".repeat(100_000));
        let said = bounded(&long);
        assert!(said.chars().count() < 2100 && said.starts_with("what") && said.ends_with("what to do"), "{said}");
    }

    #[test]
    fn notes_are_broken_but_the_command_to_copy_is_not() {
        let note = "ketcd: error: pod \"a\" not found; it exists in namespace \"lab\": ketcd -f some/file.db get pod/lab/a";
        assert_eq!(folded(note, 200), note);
        let broken = "ketcd: error: pod \"a\" not found; it\n    exists in namespace \"lab\":\n    ketcd -f some/file.db get pod/lab/a";
        assert_eq!(folded(note, 36), broken);
        assert_eq!(folded("ketcd: one two", 10), "ketcd: one\n    two");
        let alone = "  ketcd -f some/file.db describe pod/lab/a";
        assert_eq!(folded(alone, 20), alone);
    }
}
