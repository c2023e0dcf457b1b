//! Exec plugins: programs that hand out credentials (client.authentication.k8s.io v1 and v1beta1, client-go v0.36 `plugin/pkg/client/auth/exec`).

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use jiff::Timestamp;
use ketcd_store::{Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use zeroize::Zeroizing;

use super::file::Exec;
use super::pem::Pem;
use crate::problem::settings;

const GROUP: &str = "client.authentication.k8s.io/";
/// More than any credential.
const LARGEST: u64 = 1 << 20;
/// A plugin may wait for a user who logs in elsewhere.
const PATIENCE: Duration = Duration::from_secs(300);

/// A program that hands out credentials.
pub(crate) struct ExecPlugin {
    user: String,
    api_version: String,
    command: PathBuf,
    args: Vec<String>,
    variables: Vec<(String, String)>,
    interactive: Interactive,
    cluster: Option<Value>,
    install_hint: Option<String>,
    /// How long it may take.
    patience: Duration,
}

/// Whether a plugin gets the terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interactive {
    Never,
    IfAvailable,
    Always,
}

/// What a plugin handed out.
pub(crate) struct ExecCredential {
    pub token: Option<Zeroizing<String>>,
    pub client: Option<(Pem, Pem)>,
    pub expires: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    api_version: String,
    kind: String,
    status: Option<AnswerStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerStatus {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    expiration_timestamp: Option<String>,
}

impl ExecPlugin {
    /// Takes what a user of a kubeconfig in `place` says of its plugin.
    ///
    /// # Errors
    ///
    /// It cannot be used.
    pub(super) fn of(user: &str, exec: &Exec, place: &Path, cluster: Value) -> Result<Self> {
        let wrong = |problem: String, hint: &str| settings(format!("the exec plugin of user {user:?} {problem}"), hint);
        let version = exec.api_version.strip_prefix(GROUP);
        let interactive = match (exec.interactive_mode.as_deref().unwrap_or_default(), version) {
            ("Never", _) => Interactive::Never,
            ("Always", _) => Interactive::Always,
            ("IfAvailable", _) | ("", Some("v1beta1")) => Interactive::IfAvailable,
            ("", _) => return Err(wrong("has no interactiveMode".to_owned(), "v1 requires one: Never, IfAvailable or Always")),
            (other, _) => return Err(wrong(format!("has the unknown interactiveMode {other:?}"), "use Never, IfAvailable or Always")),
        };
        if !matches!(version, Some("v1" | "v1beta1")) {
            let hint = "update the plugin and the kubeconfig: kubectl supports client.authentication.k8s.io/v1 and v1beta1";
            return Err(wrong(format!("has the apiVersion {:?}", exec.api_version), hint));
        }
        if exec.command.is_empty() {
            return Err(wrong("has no command".to_owned(), "name the program in the kubeconfig"));
        }
        // A name without a separator is looked for in PATH, another path counts from the kubeconfig.
        let is_name = !exec.command.contains(std::path::is_separator);
        let command = if is_name { PathBuf::from(&exec.command) } else { place.join(&exec.command) };
        Ok(Self {
            user: user.to_owned(),
            api_version: exec.api_version.clone(),
            command,
            args: exec.args.clone().unwrap_or_default(),
            variables: exec.env.iter().flatten().map(|variable| (variable.name.clone(), variable.value.clone())).collect(),
            interactive,
            cluster: exec.provide_cluster_info.then_some(cluster),
            install_hint: exec.install_hint.clone(),
            patience: PATIENCE,
        })
    }

    /// Runs the plugin. What it prints on standard error goes to ours, as with kubectl.
    ///
    /// # Errors
    ///
    /// It cannot be run, fails, or answers with something else.
    pub(crate) async fn run(&self) -> Result<ExecCredential> {
        let has_terminal = self.interactive != Interactive::Never && std::io::stdin().is_terminal();
        if self.interactive == Interactive::Always && !has_terminal {
            return Err(self.trouble("needs a terminal, and standard input is none".to_owned()));
        }
        let mut info = json!({"apiVersion": self.api_version, "kind": "ExecCredential", "spec": {"interactive": has_terminal}});
        if let Some(cluster) = &self.cluster {
            info["spec"]["cluster"] = cluster.clone();
        }
        let mut command = Command::new(&self.command);
        command.args(&self.args).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("KUBERNETES_EXEC_INFO", info.to_string()).kill_on_drop(true);
        command.stdin(if has_terminal { Stdio::inherit() } else { Stdio::null() }).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| self.trouble(format!("cannot be run: {error}")))?;
        let mut text = Zeroizing::new(Vec::new());
        let read = async {
            if let Some(stdout) = child.stdout.take() {
                stdout.take(LARGEST).read_to_end(&mut text).await?;
            }
            child.wait().await
        };
        let ended = tokio::time::timeout(self.patience, read).await;
        let status = ended.map_err(|_| self.trouble(format!("did not end within {} s", self.patience.as_secs())))?;
        let status = status.map_err(|error| self.trouble(format!("cannot be read: {error}")))?;
        if !status.success() {
            return Err(self.trouble(format!("failed ({status})")));
        }
        self.read(&text)
    }

    /// Reads what the plugin printed, which is never quoted.
    fn read(&self, text: &[u8]) -> Result<ExecCredential> {
        let answer: Answer = serde_json::from_slice(text).map_err(|_| self.trouble("did not print an ExecCredential".to_owned()))?;
        if answer.kind != "ExecCredential" || answer.api_version != self.api_version {
            return Err(self.trouble(format!("printed something else than an ExecCredential of {}", self.api_version)));
        }
        let Some(status) = answer.status else { return Err(self.trouble("printed no status".to_owned())) };
        let pem = |text: String| Pem::Text(Zeroizing::new(text.into_bytes()));
        let client = match (status.client_certificate_data, status.client_key_data) {
            (Some(certificate), Some(key)) => Some((pem(certificate), pem(key))),
            (None, None) => None,
            _ => return Err(self.trouble("printed a certificate or a key, not both".to_owned())),
        };
        let token = status.token.filter(|token| !token.is_empty()).map(Zeroizing::new);
        if token.is_none() && client.is_none() {
            return Err(self.trouble("printed neither a token nor a certificate".to_owned()));
        }
        let expires = status.expiration_timestamp.map(|time| time.parse()).transpose();
        let expires = expires.map_err(|_| self.trouble("printed an expirationTimestamp that is no time".to_owned()))?;
        Ok(ExecCredential { token, client, expires })
    }

    fn trouble(&self, problem: String) -> Error {
        let hint = match &self.install_hint {
            Some(hint) => hint.clone(),
            // Its arguments may hold credentials.
            None => "run it by hand, with the arguments that the kubeconfig has, to see why".to_owned(),
        };
        settings(format!("the exec plugin {} of user {:?} {problem}", self.command.display(), self.user), hint.trim())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn plugin(script: &str) -> ExecPlugin {
        let exec = Exec {
            api_version: "client.authentication.k8s.io/v1".to_owned(),
            command: "sh".to_owned(),
            args: Some(vec!["-c".to_owned(), script.to_owned()]),
            interactive_mode: Some("Never".to_owned()),
            provide_cluster_info: true,
            ..Exec::default()
        };
        ExecPlugin::of("me", &exec, Path::new("/"), json!({"server": "https://a"})).unwrap()
    }

    async fn error(script: &str) -> String {
        plugin(script).run().await.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[tokio::test]
    async fn a_plugin_hands_out_a_token_and_learns_of_the_cluster() {
        // It passes only where the plugin was given the cluster.
        let script = r#"case "$KUBERNETES_EXEC_INFO" in *'"server":"https://a"'*) ;; *) exit 1;; esac
            echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t1","expirationTimestamp":"2026-11-26T22:00:00Z"}}'"#;
        let credential = plugin(script).run().await.unwrap();
        assert_eq!(credential.token.as_ref().map(|token| token.as_str()), Some("t1"));
        assert_eq!(credential.expires, Some("2026-11-26T22:00:00Z".parse().unwrap()));
        assert!(credential.client.is_none());
    }

    #[tokio::test]
    async fn a_plugin_that_fails_is_named_and_its_output_is_not_quoted() {
        assert!(error("exit 3").await.contains("failed"));
        let other = error("echo secret-token").await;
        assert!(other.contains("did not print an ExecCredential") && !other.contains("secret-token"), "{other}");
        let version = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"t"}}'"#;
        assert!(error(version).await.contains("something else than an ExecCredential of client.authentication.k8s.io/v1"));
        let time = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t","expirationTimestamp":"soon"}}'"#;
        assert!(error(time).await.contains("an expirationTimestamp that is no time"));
        let nothing = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{}}'"#;
        assert!(error(nothing).await.contains("neither a token nor a certificate"));
    }

    #[tokio::test]
    async fn a_plugin_that_does_not_end_is_ended() {
        let endless = ExecPlugin { patience: Duration::ZERO, ..plugin("exec tail -f /dev/null") };
        assert!(endless.run().await.err().unwrap().to_string().contains("did not end within 0 s"));
    }

    #[test]
    fn versions_that_kubectl_dropped_are_refused() {
        let exec = Exec {
            api_version: "client.authentication.k8s.io/v1alpha1".to_owned(),
            command: "a".to_owned(),
            interactive_mode: Some("Never".to_owned()),
            ..Exec::default()
        };
        let error = ExecPlugin::of("me", &exec, Path::new("/"), Value::Null).err().unwrap().to_string();
        assert!(error.contains("v1alpha1"), "{error}");
    }
}
