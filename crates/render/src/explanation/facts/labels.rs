//! Checks on the node's labels, in words.

use std::sync::Arc;

use ketcd_kube::Operator;
use ketcd_scheduler::{LabelCheck, TermCheck, WantedLabel};

pub(super) fn text(check: &LabelCheck) -> String {
    match check {
        LabelCheck::Wanted(label) => wanted(label),
        LabelCheck::NoneWanted => "the pod requires no labels".to_owned(),
        LabelCheck::Missing { key } => format!("it has no label {key}"),
        LabelCheck::Term { added, number, terms, check } => {
            let place = if *terms > 1 { format!("term {number} of {terms}: ") } else { String::new() };
            format!("{}{place}{}", whose(*added), term(check))
        }
        LabelCheck::NoTerms { added } => format!("{}required node affinity without terms matches no node", whose(*added)),
        LabelCheck::ServiceSelected { key, wanted, value } => {
            format!("label {key}={wanted} wanted by the nodeSelector, {}", is(value.as_ref()))
        }
        LabelCheck::ServiceNodes { key, wanted, value } => {
            let others = if wanted.is_empty() { "no pod of its Service says which".to_owned() } else { wanted.join(" or ") };
            format!("label {key} as for its Service's pods ({others}), {}", is(value.as_ref()))
        }
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// What a requirement wants of a label, and what is there.
pub(super) fn wanted(WantedLabel { wanted, value }: &WantedLabel) -> String {
    let (key, values, is) = (&wanted.key, wanted.values.join(", "), is(value.as_ref()));
    match wanted.operator {
        Operator::In if wanted.values.len() == 1 => format!("label {key}={values} wanted, {is}"),
        Operator::In => format!("label {key} in ({values}) wanted, {is}"),
        Operator::NotIn => format!("label {key} not in ({values}) wanted, {is}"),
        Operator::Exists => format!("label {key} wanted, {is}"),
        Operator::DoesNotExist => format!("no label {key} wanted, {is}"),
        Operator::Gt => format!("label {key} above {values} wanted, {is}"),
        Operator::Lt => format!("label {key} below {values} wanted, {is}"),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

fn term(check: &TermCheck) -> String {
    match check {
        TermCheck::Label(label) => wanted(label),
        TermCheck::Name { wanted, name } => {
            let not = if wanted.operator == Operator::NotIn { "any but " } else { "" };
            format!("{not}the node {} wanted, it is {name}", wanted.values.join(" or "))
        }
        TermCheck::Unparsed(error) => format!("it cannot be read: {error}"),
        TermCheck::Empty => "it is empty, so it matches no node".to_owned(),
    }
}

fn whose(added: bool) -> &'static str {
    if added { "the scheduler's configuration: " } else { "" }
}

fn is(value: Option<&Arc<str>>) -> String {
    value.map_or_else(|| "is absent".to_owned(), |value| format!("is {value}"))
}
