//! Rules as rows: what each is and since when, its name and type, and its value by the release.

/// Makes a method of each row. `minor` is what the rows compare.
macro_rules! rules_of {
    ($type:ty, $self:ident, $minor:ident = $release:expr; $($(#[$doc:meta])* $rule:ident: $of:ty = $value:expr;)*) => {
        impl $type {
            $(
                $(#[$doc])*
                #[allow(unused_variables, reason = "a row may follow from another one")]
                pub(crate) fn $rule(&$self) -> $of {
                    let $minor = $release;
                    $value
                }
            )*
        }
    };
}
