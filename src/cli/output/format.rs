//! `-o` and `--color`: how answers are written.

use clap::ValueEnum;

use crate::cli::outcome::{Error, Result};
use ketcd_kube::nearest;
use ketcd_render::style::Content;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What `-o` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Format {
    /// Columns for people; the default.
    Table,
    /// More columns.
    Wide,
    Json,
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
    Markdown,
}

impl Format {
    /// Reads the value of `-o`.
    pub(in crate::cli) fn parse(text: Option<&str>) -> Result<Self> {
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
            ("markdown", None) => Ok(Self::Markdown),
            (name, None) if WITH_VALUE.contains(&name) => {
                Err(Error::new(format!("-o {name} needs a value")).hint(format!("write -o {name}=…")))
            }
            (name, _) => Err(unknown_format(text, name, &WITH_VALUE)),
        }
    }

    /// Whether it shows only columns or names, not objects.
    pub(in crate::cli) fn is_columns(&self) -> bool {
        matches!(self, Self::Table | Self::Wide | Self::Name)
    }

    pub(in crate::cli) fn content(&self) -> Content {
        match self {
            Self::Table | Self::Wide | Self::Yaml | Self::Kyaml | Self::Name | Self::Markdown => Content::Text,
            Self::Json | Self::Ndjson | Self::JsonPathAsJson(_) => Content::Json,
            Self::JsonPath(_) | Self::GoTemplate(_) | Self::CustomColumns(_) | Self::CustomColumnsFile(_) | Self::Raw | Self::Metrics => {
                Content::Raw
            }
        }
    }

    /// The error of a command that has no such output.
    pub(in crate::cli) fn unsupported(&self, command: &str, supported: &str) -> Error {
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
            Self::Markdown => "markdown",
        };
        Error::new(format!("{command} has no output format {name}")).hint(format!("use one of {supported}"))
    }
}

/// The error of a format that does not exist, with the one that is nearest, or all of them.
fn unknown_format(text: &str, name: &str, with_value: &[&'static str]) -> Error {
    const WITHOUT_ARGUMENT: [&str; 10] = ["table", "wide", "json", "yaml", "kyaml", "name", "ndjson", "raw", "metrics", "markdown"];
    let wrong = Error::new(format!("unknown output format {text:?}"));
    let lower = name.to_ascii_lowercase();
    let near = nearest(&lower, WITHOUT_ARGUMENT.iter().chain(with_value).map(|known| (*known, *known)));
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
