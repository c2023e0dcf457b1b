module oracle/yaml

go 1.24

require sigs.k8s.io/yaml v1.6.0

require (
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	go.yaml.in/yaml/v3 v3.0.3 // indirect
)
