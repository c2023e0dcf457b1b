//! What differs in strict decoding: `sigs.k8s.io/json` since 1.23, `json-iterator` before; `apis/config/scheme`, `config/{version}/types.go`.

use super::ConfigRules;

impl ConfigRules {
    /// The API group of the configuration (`apis/config/register.go`, another one since 1.12).
    pub(crate) fn api_group(self) -> &'static str {
        if self.minor <= 11 { "componentconfig" } else { "kubescheduler.config.k8s.io" }
    }

    /// Whether the JSON decoder refuses fields given twice, where it knows them (`sigs.k8s.io/json`, since 1.23); before, JSON is read as YAML is, which
    /// refuses them anywhere.
    pub(crate) fn finds_repeated_fields_of_json(self) -> bool {
        self.minor >= 23
    }

    /// Whether extenders are decoded separately from the file, ignoring unknown fields (`kube-scheduler/config/v1/types.go` UnmarshalJSON, 1.18).
    pub(crate) fn decodes_extenders_apart(self) -> bool {
        self.minor == 18
    }

    /// Whether a plugin decodes its arguments itself, when it is created (`framework/v1alpha1` DecodeInto, 1.18).
    pub(crate) fn plugins_decode_arguments(self) -> bool {
        self.minor == 18
    }
}
