//! Words for a creation: the object's owner, and what it is meant to do.

use ketcd_history::timeline::CreatedAs;

/// `for ReplicaSet web-7d9`, `schedule */5 * * * * in Europe/Paris`; may be empty.
pub(super) fn created(owner: Option<&(String, String)>, with: &CreatedAs) -> String {
    let owner = owner.map(|(kind, name)| format!("for {kind} {name}")).unwrap_or_default();
    joined([owner, as_what(with)].into_iter().filter(|part| !part.is_empty()))
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn as_what(with: &CreatedAs) -> String {
    match with {
        CreatedAs::Plain => String::new(),
        CreatedAs::Images(images) => images.join(", "),
        CreatedAs::Schedule { schedule, zone } => {
            let zone = zone.as_ref().map(|zone| format!(" in {zone}")).unwrap_or_default();
            format!("schedule {schedule}{zone}")
        }
        CreatedAs::Claim { size, class } => joined(size.iter().cloned().chain(class.iter().map(|class| format!("class {class}")))),
        CreatedAs::Volume { size, provisioner } => {
            joined(size.iter().cloned().chain(provisioner.iter().map(|by| format!("provisioned by {by}"))))
        }
        CreatedAs::Attachment { volume, node } => format!("{volume} to {node}"),
        CreatedAs::Service { kind, address, ports } => {
            let head = format!("{kind} {address}").trim().to_owned();
            let ports = ports.iter().map(|(port, protocol)| format!("{port}/{protocol}"));
            joined([head].into_iter().filter(|head| !head.is_empty()).chain(ports))
        }
        CreatedAs::Autoscaler { target: (kind, name), least, most } => format!("scales {kind} {name} between {least} and {most}"),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}
