//! Capacity of shareable devices. Upstream: `structured/internal/*/consumable_capacity.go`.

use std::collections::{BTreeMap, HashMap};

use crate::api::meta::Quantity;
use crate::api::resource::{CapacityRequestPolicy, CapacityRequestPolicyRange, CapacityRequirements, Device, DeviceCapacity};
use crate::cluster::Amount;
use crate::release::DeviceRules;

use super::DeviceId;

pub(super) type Amounts = BTreeMap<String, Amount>;

pub(super) type Consumed<'a> = HashMap<DeviceId<'a>, Amounts>;

/// Returns whether a device has the requested capacity, less what was `allocated` before and what the search itself consumed
/// (`CmpRequestOverCapacity`).
///
/// # Errors
/// Upstream's error.
pub(super) fn has_capacity(
    device: &Device,
    asked: Option<&CapacityRequirements>,
    allocated: Option<&Amounts>,
    taken: Option<&Amounts>,
    rules: DeviceRules,
) -> Result<bool, String> {
    let capacities = device.capacity.as_ref();
    let unknown = |name: &String| capacities.is_none_or(|capacities| !capacities.contains_key(name));
    if asked.and_then(|asked| asked.requests.as_ref()).is_some_and(|asked| asked.keys().any(unknown)) {
        return Ok(false);
    }
    let before = |name: &String, of: Option<&Amounts>| of.and_then(|of| of.get(name)).copied().unwrap_or_default();
    Ok(consumption(device, asked, rules)?.iter().zip(capacities.into_iter().flatten()).all(|((name, wanted), (_, capacity))| {
        let violates = capacity.request_policy.as_ref().is_some_and(|policy| violates(*wanted, policy, rules));
        !violates && before(name, allocated) + before(name, taken) + *wanted <= amount(&capacity.value)
    }))
}

/// Returns how much of each capacity of a device a request would consume (`GetConsumedCapacityFromRequest`).
///
/// # Errors
/// Upstream's error.
pub(super) fn consumption(device: &Device, asked: Option<&CapacityRequirements>, rules: DeviceRules) -> Result<Amounts, String> {
    let asked = |name: &str| asked.and_then(|asked| asked.requests.as_ref()?.get(name));
    let each = device.capacity.iter().flatten().map(|(name, capacity)| {
        let taken = rounded(asked(name), capacity, rules).map_err(|error| format!("capacity \"{name}\": {error}"))?;
        if rules.refuses_negative_capacity() && taken < Amount::default() {
            return Err(format!("capacity \"{name}\": capacity value is negative"));
        }
        Ok((name.clone(), taken))
    });
    each.collect()
}

/// Whether several claims may share the device.
pub(super) fn is_shareable(device: &Device) -> bool {
    device.allow_multiple_allocations == Some(true)
}

/// Rounds a request up to an amount the policy allows; without a request, returns the default or the whole capacity.
fn rounded(asked: Option<&Quantity>, capacity: &DeviceCapacity, rules: DeviceRules) -> Result<Amount, String> {
    let policy = capacity.request_policy.as_ref();
    let Some(text) = asked else {
        return Ok(policy.and_then(|policy| policy.default.as_ref()).map_or_else(|| amount(&capacity.value), amount));
    };
    let asked = amount(text);
    let Some(policy) = policy else { return Ok(asked) };
    if let Some(range) = &policy.valid_range {
        return stepped(asked, &text.0, range, rules);
    }
    Ok(policy.valid_values.iter().flatten().map(amount).find(|valid| asked <= *valid).unwrap_or(asked))
}

/// `roundUpRange`: in whole units, or in thousandths where the range is exact in them.
fn stepped(asked: Amount, text: &str, range: &CapacityRequestPolicyRange, rules: DeviceRules) -> Result<Amount, String> {
    const INEXACT_RANGE_REASON: &str = "capacity request cannot be represented in the device's range arithmetic";
    let least = amount(&range.min);
    let Some(step) = range.step.as_ref().map(amount).filter(|_| asked >= least) else { return Ok(asked.max(least)) };
    let millis = in_millis(range, rules);
    if millis && millis_of(asked).is_none() {
        return Err(format!("{INEXACT_RANGE_REASON}: request {text} is not a representable milli value"));
    }
    let unit = |amount: Amount| i128::from(if millis { amount.milli_value() } else { amount.value() });
    let (from, step) = (unit(least), unit(step).max(1));
    let above = unit(asked) - from;
    let to = from + step * ((above + step - 1) / step);
    match i64::try_from(to) {
        Ok(to) => Ok(if millis { Amount::from_millis(to) } else { Amount::from_units(to) }),
        Err(_) if rules.saturates_capacity() => Ok(Amount::from_units(i64::MAX)),
        Err(_) if millis => {
            Err(format!("{INEXACT_RANGE_REASON}: rounding request {text} up to the next step passes the milli-value range"))
        }
        Err(_) => Err(format!("{INEXACT_RANGE_REASON}: rounding request {text} up to the next step passes MaxInt64")),
    }
}

fn violates(taken: Amount, policy: &CapacityRequestPolicy, rules: DeviceRules) -> bool {
    if policy.default.as_ref().is_some_and(|default| amount(default) == taken) {
        return false;
    }
    if let Some(range) = &policy.valid_range {
        return range.max.as_ref().is_some_and(|most| taken > amount(most)) || is_off_step(taken, range, rules);
    }
    policy.valid_values.as_ref().is_some_and(|valid| !valid.is_empty() && !valid.iter().any(|valid| amount(valid) == taken))
}

fn is_off_step(taken: Amount, range: &CapacityRequestPolicyRange, rules: DeviceRules) -> bool {
    let Some(step) = range.step.as_ref().map(amount) else { return false };
    let least = amount(&range.min);
    if in_millis(range, rules) {
        return millis_of(taken).is_none_or(|taken| (taken - least.milli_value()) % step.milli_value() != 0);
    }
    (taken.value() - least.value()) % step.value().max(1) != 0
}

/// `useMilli`.
fn in_millis(range: &CapacityRequestPolicyRange, rules: DeviceRules) -> bool {
    let mut all = [Some(&range.min), range.max.as_ref(), range.step.as_ref()].into_iter().flatten();
    let step = range.step.as_ref().map(amount);
    rules.has_fractional_ranges()
        && all.all(|quantity| millis_of(amount(quantity)).is_some())
        && step.is_none_or(|step| step.milli_value() >= 1)
}

/// An amount in thousandths, if it is exact in them.
fn millis_of(amount: Amount) -> Option<i64> {
    let millis = amount.milli_value();
    (Amount::from_millis(millis) == amount).then_some(millis)
}

/// A quantity, exactly.
pub(super) fn amount(quantity: &Quantity) -> Amount {
    Amount::parse(&quantity.0).unwrap_or_default()
}
