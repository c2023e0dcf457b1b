//! `--against`: the cluster that manifests are to be applied to, behind an API server or in a source as `-f` takes it.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use ketcd_cluster::extract::{Extraction, Target};
use ketcd_render::comparison::Showing;
use ketcd_render::{extraction as render, json, plan};
use serde_json::Value;

use super::kubectl;
use crate::cli::input::connection::ConnectionArgs;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::source_names::is_url;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;

/// Shows what applying the manifests would do to another cluster; a change or an obstacle is exit 1.
pub(in crate::cli) async fn plan(
    session: &Session,
    name: &str,
    extraction: &Extraction,
    all_fields: bool,
    out: &mut Output,
) -> Result<Outcome> {
    let plan = target(session, name, &extraction.manifests).await?.plan(&extraction.manifests);
    match &session.format {
        Format::Table => plan::write_text(&plan, Showing { all_fields, width: out.width() }, out)?,
        Format::Json => json::write_document(&plan::document(&plan, session.managed_fields()), out)?,
        other => return Err(other.unsupported("extract --against", "table, json")),
    }
    out.flush()?;
    render::notes(&extraction.summary).iter().chain(&plan.notes).for_each(|line| note(line));
    Ok(if plan.is_empty() && !extraction.manifests.is_empty() { Outcome::Found } else { Outcome::Nothing })
}

/// Reads what manifests are about of another cluster: through kubectl with a kubeconfig, else the newest state of a source.
async fn target(session: &Session, name: &str, manifests: &[Value]) -> Result<Target> {
    if !is_url(name) && is_kubeconfig(Path::new(name)) {
        return kubectl::read(session, name, manifests).await;
    }
    let args = GlobalArgs { files: vec![name.to_owned()], rev: None, at: None, prefix: None, release: None, ..session.args.clone() };
    let args = if args.names_live_etcd() { args } else { GlobalArgs { connection: ConnectionArgs::default(), ..args } };
    Ok(Session::open(&args, false).await?.cluster.target(name, manifests).await?)
}

/// Whether a file is a kubeconfig: a short YAML or JSON document of kind Config.
fn is_kubeconfig(path: &Path) -> bool {
    /// Certificates may be in it, no more.
    const MAX_KUBECONFIG_BYTES: u64 = 4 << 20;
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_KUBECONFIG_BYTES).read_to_string(&mut text));
    let parsed = read.ok().and_then(|_| serde_saphyr::from_str::<Value>(&text).ok());
    parsed.is_some_and(|config| config["kind"] == "Config" && config["clusters"].is_array())
}
