//! What differs in strict decoding: `sigs.k8s.io/json` since 1.23, `json-iterator` before; `apis/config/scheme`, `config/{version}/types.go`.

use super::ConfigRules;

impl ConfigRules {
    /// The API group of the configuration (`apis/config/register.go`, another one since 1.12).
    pub(crate) fn api_group(self) -> &'static str {
        if self.minor <= 11 { "componentconfig" } else { "kubescheduler.config.k8s.io" }
    }

    /// The place in upstream's code where the scheme was made, as its errors name it.
    pub(crate) fn scheme_location(self) -> &'static str {
        match self.minor {
            ..=19 => "pkg/runtime/scheme.go:101",
            20..=32 => "pkg/runtime/scheme.go:100",
            33..=34 => "pkg/runtime/scheme.go:110",
            _ => "pkg/runtime/scheme.go:111",
        }
    }

    /// Whether decoding stops at the first error and quotes the bytes around it (`json-iterator`, up to 1.22).
    pub(crate) fn quotes_first_fault(self) -> bool {
        self.minor <= 22
    }

    /// Whether JSON is read by the YAML decoder too, which reports duplicate fields (`serializer/json/json.go`, up to 1.22).
    pub(crate) fn reads_json_as_yaml(self) -> bool {
        self.minor <= 22
    }

    /// Whether the JSON decoder reports duplicate fields (`sigs.k8s.io/json`, since 1.23).
    pub(crate) fn reports_duplicate_fields(self) -> bool {
        self.minor >= 23
    }

    /// Whether unknown fields are reported with their path (`sigs.k8s.io/json`; not in 1.23).
    pub(crate) fn names_path_of_unknown_field(self) -> bool {
        self.minor != 23
    }

    /// Whether decoding continues after unknown fields of a plugin's arguments (`config/{version}/types.go` DecodeNestedObjects, since 1.24).
    pub(crate) fn collects_unknown_fields_of_arguments(self) -> bool {
        self.minor >= 24
    }

    /// Whether extenders are decoded separately from the file, ignoring unknown fields (`kube-scheduler/config/v1/types.go` UnmarshalJSON, 1.18).
    pub(crate) fn decodes_extenders_apart(self) -> bool {
        self.minor == 18
    }

    /// Whether a plugin decodes its arguments itself, when it is created (`framework/v1alpha1` DecodeInto, 1.18).
    pub(crate) fn plugins_decode_arguments(self) -> bool {
        self.minor == 18
    }

    /// Whether the structs of an extender are of package `v1` whatever the version (`kube-scheduler/config/v1/types.go`, up to 1.22).
    pub(crate) fn extender_structs_are_v1(self) -> bool {
        self.minor <= 22
    }
}
