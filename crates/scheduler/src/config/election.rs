//! Leader election, the connection to the API server and the addresses served: they place no pod, yet a scheduler does not start where they are wrong.
//! Upstream: `component-base/config/validation/validation.go`, its defaults in `component-base/config/v1alpha1/defaults.go`;
//! `apis/config/validation/validation.go`, the addresses' defaults in `apis/config/{v1beta1,v1beta2}/defaults.go`.

use std::net::IpAddr;

use ketcd_kube::go_duration::{SECOND, go_duration, parse_go_duration};

use super::{ConfigVersion, Context};
use crate::validation::Document;

/// What is wrong with `clientConnection` and `leaderElection`.
pub(super) fn check(document: &Document<'_>, context: &Context<'_>) -> Vec<String> {
    let release = context.release.0;
    let mut wrong = Vec::new();
    let burst = document.field("clientConnection").field("burst");
    wrong.extend(burst.whole().filter(|burst| *burst < 0).map(|value| burst.invalid(value, "must be non-negative")));
    let election = document.field("leaderElection");
    if election.field("leaderElect").truth() == Some(false) {
        return wrong;
    }
    // Up to 1.33 durations are told as Go's structs, since then as JSON has them.
    let shown = |value: i64| if release >= 34 { format!("{:?}", go_duration(value)) } else { format!("v1.Duration{{Duration:{value}}}") };
    let mut read = |name: &str, default: i64| {
        let field = election.field(name);
        // Zero stands for the default.
        let value = parse_go_duration(field.text()).ok().filter(|value| *value != 0).unwrap_or(default);
        if value < 0 {
            wrong.push(field.invalid(shown(value), "must be greater than zero"));
        }
        value
    };
    let (lease, renew) = (read("leaseDuration", 15 * SECOND), read("renewDeadline", 10 * SECOND));
    read("retryPeriod", 2 * SECOND);
    if lease < renew || lease == renew && release >= 26 {
        // Upstream shows the deadline under the lease's name.
        let why = if release >= 34 { "must be greater than `RenewDeadline`" } else { "LeaseDuration must be greater than RenewDeadline" };
        wrong.push(election.field("leaseDuration").invalid(shown(renew), why));
    }
    let lock = election.field("resourceLock");
    if release >= 27 && !matches!(lock.text(), "" | "leases") {
        wrong.push(lock.invalid_text("resourceLock value must be \"leases\""));
    }
    wrong
}

/// What is wrong with the addresses for health checks and metrics, which v1beta3 took out.
pub(super) fn addresses(document: &Document<'_>, context: &Context<'_>) -> Vec<String> {
    if context.version >= ConfigVersion::V1Beta3 {
        return Vec::new();
    }
    let fields = ["healthzBindAddress", "metricsBindAddress"].map(|name| document.field(name));
    fields.iter().filter(|field| !field.is_absent()).flat_map(|field| address(field, context)).collect()
}

fn address(field: &Document<'_>, context: &Context<'_>) -> Vec<String> {
    let text = field.text();
    let old = context.release.0 <= 22;
    let Some((host, port)) = text.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.starts_with('[')) else {
        // A host alone gets the default port; up to v1beta1 anything else the default address.
        let excused = text.parse::<IpAddr>().is_ok() && old || context.version <= ConfigVersion::V1Beta1 || text.is_empty() && !old;
        let why = match () {
            () if excused => return Vec::new(),
            () if old => "must be a valid socket address format, (e.g. 0.0.0.0:10254 or [::]:10254)".to_owned(),
            () if text.contains(':') => format!("address {text}: too many colons in address"),
            () => format!("address {text}: missing port in address"),
        };
        return vec![field.invalid_text(why)];
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_ip = host.parse::<IpAddr>().is_ok() || host.is_empty() && old;
    let no_ip = (!is_ip).then_some(if context.release.0 <= 19 {
        "must be a valid IP address, (e.g. 10.9.8.7)"
    } else {
        "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    });
    let number: Option<i64> = port.parse().ok();
    let told = |why: &str| {
        let shown = if host.is_empty() && old { format!("0.0.0.0:{port}") } else { text.to_owned() };
        field.invalid(format!("{shown:?}"), why)
    };
    if old {
        let no_port = (!(1..=65535).contains(&number.unwrap_or(0))).then_some("must be between 1 and 65535, inclusive");
        return no_port.into_iter().chain(no_ip).map(told).collect();
    }
    match number {
        None => vec![told(&format!("strconv.Atoi: parsing {port:?}: invalid syntax"))],
        Some(0) => no_ip.into_iter().map(told).collect(),
        Some(_) => no_ip.into_iter().chain(Some("must be empty or with an explicit 0 port")).map(told).collect(),
    }
}
