//go:build since_1_27 && !since_1_28

package options

import (
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// OracleLoad reads a configuration file as the command's --config does.
func OracleLoad(file string) (*config.KubeSchedulerConfiguration, error) {
	return loadConfigFromFile(klog.Background(), file)
}
