//! What differs in strict decoding: `sigs.k8s.io/json` since 1.23, `json-iterator` before; `apis/config/scheme`, `config/{version}/types.go`.

use super::ConfigRules;

rules_of! {
    ConfigRules, self, minor = self.minor;

    /// The API group of the configuration (`apis/config/register.go`, another one since 1.12).
    api_group: &'static str = if minor <= 11 { "componentconfig" } else { "kubescheduler.config.k8s.io" };
    /// Whether the JSON decoder refuses fields given twice, where it knows them (`sigs.k8s.io/json`, since 1.23); before, JSON is read as YAML is, which
    /// refuses them anywhere.
    finds_repeated_fields_of_json: bool = minor >= 23;
    /// Whether extenders are decoded separately from the file, ignoring unknown fields (`kube-scheduler/config/v1/types.go` UnmarshalJSON, 1.18).
    decodes_extenders_apart: bool = minor == 18;
    /// Whether a plugin decodes its arguments itself, when it is created (`framework/v1alpha1` DecodeInto, 1.18).
    plugins_decode_arguments: bool = minor == 18;
}
