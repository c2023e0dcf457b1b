//! One thing a filter compared, in words.

/// One thing a filter compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Whether it speaks for the node.
    pub holds: bool,
    /// What was compared, a fragment without a full stop.
    pub text: String,
    /// Who is behind the numbers, where that is known: `by shop/web-0 2, shop/web-1 500m`.
    pub who: String,
}

impl Fact {
    /// A fact that speaks for the node where `holds`.
    pub fn new(holds: bool, text: String) -> Self {
        Self { holds, text, who: String::new() }
    }

    /// The fact with who is behind it.
    pub fn whole(&self) -> String {
        if self.who.is_empty() { self.text.clone() } else { format!("{} ({})", self.text, self.who) }
    }

    /// A fact that speaks for the node.
    pub fn holding(text: String) -> Self {
        Self::new(true, text)
    }

    /// A fact that speaks against it.
    pub fn refusing(text: String) -> Self {
        Self::new(false, text)
    }
}
