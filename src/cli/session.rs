//! A source with what is needed to read it: opened once, used by every command.
