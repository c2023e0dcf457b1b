//! `--keep`: the rules that are switched off.

use ketcd_cluster::extract::With;
use ketcd_restore::Switches;
use ketcd_restore::exclusions::{ALL_EXCLUSIONS, OWNED_EXCLUSION};
use ketcd_restore::rules::ALL_RULES;

use crate::cli::outcome::{Error, Result};

/// Which rules are switched off: those that are named, and those that what is added needs.
///
/// # Errors
/// No rule has that name.
pub(in crate::cli) fn switches(keep: &[String], with: With) -> Result<Switches> {
    let mut switches = Switches::default();
    for name in keep {
        if !switches.keep(name) {
            let known = ALL_RULES.iter().map(|rule| rule.name).chain(ALL_EXCLUSIONS.iter().map(|exclusion| exclusion.name));
            return Err(Error::new(format!("no rule is called {name:?}"))
                .hint(format!("the rules are {}; ketcd extract --rules explains them", known.collect::<Vec<_>>().join(", "))));
        }
    }
    if with.owned {
        switches.keep(OWNED_EXCLUSION);
    }
    if with.storage {
        switches.keep_volumes_bound();
    }
    Ok(switches)
}
