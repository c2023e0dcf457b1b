//! Results to text, JSON and HTML; knows no source and no user.
