package main

import (
	"io"
	"sort"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// Gate is a feature gate as the release has it by default.
type Gate struct {
	Name    string `json:"gate"`
	Default bool   `json:"default"`
	Locked  bool   `json:"locked"`
}

// writeGates writes every gate of the release, by name.
func writeGates(out io.Writer) error {
	specs := utilfeature.DefaultMutableFeatureGate.GetAll()
	names := []string{}
	for name := range specs {
		names = append(names, string(name))
	}
	sort.Strings(names)
	for _, name := range names {
		spec := specs[featuregate.Feature(name)]
		if err := writeLine(out, Gate{name, spec.Default, spec.LockToDefault}); err != nil {
			return err
		}
	}
	return nil
}
