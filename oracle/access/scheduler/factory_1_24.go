//go:build !since_1_37

package scheduler

import (
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// OracleFactory returns the informers of a scheduler.
func OracleFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return NewInformerFactory(client, 0)
}
