//! Enums of JSON that have the variants of one of the domain.

/// Makes each variant of an enum the one of the same name; `_` behind them: the enum is one that a release may add to.
macro_rules! mirrored {
    ($of:ty => $mirror:ident: $($variant:ident),+ $(; $added:tt)?) => {
        impl From<$of> for $mirror {
            fn from(of: $of) -> Self {
                type Of = $of;
                match of {
                    $(Of::$variant => Self::$variant,)+
                    $(#[cfg(not(ketcd_exhaustive))]
                    $added => unreachable!("of another version"),)?
                }
            }
        }
    };
}
