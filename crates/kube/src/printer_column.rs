//! The columns that a custom kind is printed with.

/// One of a CustomResourceDefinition's `additionalPrinterColumns`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrinterColumn {
    /// The heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub column_type: String,
    /// Where in the object the cell is found, such as `.spec.replicas`.
    pub json_path: String,
    /// Above 0 only `-o wide` shows it.
    pub priority: i64,
}
