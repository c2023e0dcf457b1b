//! A source with what is needed to read it: opened once, used by every command.

use crate::store::{At, Revision, Source};

use super::args::GlobalArgs;
use super::output::Format;
use super::{Error, Result};

/// An open source and the flags that say how to look at it.
pub struct Session {
    /// Where the data comes from.
    pub source: Box<dyn Source>,
    /// The flags of every command.
    pub args: GlobalArgs,
    /// What `-o` asks for.
    pub format: Format,
    /// The revision to look at, from `--rev` or `--at`.
    pub at: At,
}

impl Session {
    /// Opens the source that the flags name.
    pub async fn open(args: &GlobalArgs) -> Result<Self> {
        let format = Format::parse(args.output.as_deref())?;
        let at = revision_asked(args)?;
        Err(Error::new("no source can be opened yet")).map(|source| Self { source, args: args.clone(), format, at })
    }
}

/// `--rev N`. (`diff` reads its own `A..B`.)
fn revision_asked(args: &GlobalArgs) -> Result<At> {
    match args.rev.as_deref() {
        None => Ok(At::Newest),
        Some(text) => match text.parse() {
            Ok(number) if number > 0 => Ok(At::Revision(Revision(number))),
            _ => Err(Error::new(format!("--rev {text:?} is no revision")).hint("give a positive whole number")),
        },
    }
}
