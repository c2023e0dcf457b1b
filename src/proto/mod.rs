//! Generated code: etcd's messages (prost) and the tables of Kubernetes' fields and kinds. Made by `tests/codegen.rs`; never edited.
