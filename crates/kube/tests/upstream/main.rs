//! Equal to upstream: objects written again, verdicts of role-based access control, and the versions in which objects are served.

mod encoding;
mod rbac;
mod served_versions;
