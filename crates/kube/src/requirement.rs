//! A condition on one label: the part that label selectors and node selectors share (k8s.io/apimachinery pkg/labels Requirement).

/// How a requirement compares a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label is absent, or has none of the values.
    NotIn,
    /// The label is present.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is an integer above the one value.
    Gt,
    /// The label is an integer below the one value.
    Lt,
}

impl Operator {
    /// Parses the API's word.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            _ => return None,
        })
    }
}

/// One condition on one label. `S` is how its texts are held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement<S = String> {
    /// The label's key (or `metadata.name` in a field requirement of a node selector).
    pub key: S,
    /// The comparison.
    pub operator: Operator,
    /// What is compared with.
    pub values: Vec<S>,
}

impl<S: AsRef<str>> Requirement<S> {
    /// Returns whether a label of this value, or its absence, satisfies the requirement.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let is_listed = value.is_some_and(|value| self.values.iter().any(|wanted| wanted.as_ref() == value));
        let number = |text: &str| text.parse::<i64>().ok();
        let ordered = || Some((number(value?)?, number(self.values.first()?.as_ref())?));
        match self.operator {
            Operator::In => is_listed,
            Operator::NotIn => !is_listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt => ordered().is_some_and(|(value, bound)| value > bound),
            Operator::Lt => ordered().is_some_and(|(value, bound)| value < bound),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_compare_values_and_absence() {
        let rows: [(&str, &[&str], [bool; 4]); 6] = [
            // "a", "7", "", absent
            ("In", &["a", "7"], [true, true, false, false]),
            ("NotIn", &["a", "7"], [false, false, true, true]),
            ("Exists", &[], [true, true, true, false]),
            ("DoesNotExist", &[], [false, false, false, true]),
            ("Gt", &["6"], [false, true, false, false]),
            ("Lt", &["6"], [false, false, false, false]),
        ];
        for (operator, values, wanted) in rows {
            let requirement = Requirement { key: "k", operator: Operator::parse(operator).unwrap(), values: values.to_vec() };
            assert_eq!([Some("a"), Some("7"), Some(""), None].map(|value| requirement.matches(value)), wanted, "{operator}");
        }
        assert_eq!(Operator::parse("Near"), None);
    }
}
