//! What differs between releases in how errors about devices and claims are worded.

use super::device_rules::DeviceRules;
use super::rules::Rules;

impl DeviceRules {
    /// The error of a failing selector (`k8s.io/dynamic-resource-allocation/cel`): since 1.37 with the device, and advice about missing keys
    /// (EnhanceRuntimeError).
    pub(crate) fn selector_error(&self, whose: &str, at: usize, (driver, pool, name): (&str, &str, &str), error: &str) -> String {
        const SELECTOR_ADVICE: &str =
            ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields";
        if self.minor <= 36 {
            return format!("{whose}: selector #{at}: CEL runtime error: {error}");
        }
        let advice = if error.contains("no such key:") { SELECTOR_ADVICE } else { "" };
        format!("{whose}: selector #{at} on device {driver}/{pool}/{name}: CEL runtime error: {error}{advice}")
    }

    /// Whether an error about the capacity that a subrequest asks for names the request (1.34); since 1.35 it names the subrequest.
    pub(crate) fn subrequest_errors_name_request(&self) -> bool {
        self.minor == 34
    }
}

impl Rules {
    /// Why a pod waits for a claim that does not exist (`plugins/dynamicresources/dynamicresources.go`). `made`: it is created from a template.
    pub(crate) fn claim_not_found(&self, namespace: &str, name: &str, made: bool) -> String {
        match self.release.0 {
            ..=27 if made => format!("waiting for dynamic resource controller to create the resourceclaim \"{name}\""),
            ..=30 => format!("resourceclaim.resource.k8s.io \"{name}\" not found"),
            _ => format!("could not find ResourceClaim \"{namespace}/{name}\""),
        }
    }
}

rules_of! {
    Rules, self, minor = self.release.0;

    /// How the error calls the pod that a claim was not created for (`resourceclaim/resourceclaim.go` IsForPod).
    claim_owner_kind: &'static str = if minor >= 36 { "Pod" } else { "pod" };
    /// Whether errors about what a device consumes of its node name the device's driver (`nodeallocatabledynamicresources.go`, since 1.37).
    node_allocatable_errors_name_driver: bool = minor >= 37;
    /// The field with what a device consumes of its node, by its name in errors (the same file).
    node_allocatable_field: &'static str = if minor >= 37 { "NodeAllocatableResources" } else { "NodeAllocatableResourceMappings" };
}
