//! Exec plugins: programs that hand out credentials (client.authentication.k8s.io v1 and v1beta1, client-go v0.36 `plugin/pkg/client/auth/exec`).

use std::io::IsTerminal;
use std::process::Stdio;
use std::time::Duration;

use jiff::Timestamp;
use ketcd_store::{Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use super::file::Exec;
use super::pem::Pem;
use crate::problem::settings;

const EXEC_API_GROUP: &str = "client.authentication.k8s.io/";
/// More than any credential.
const MAX_ANSWER_BYTES: u64 = 1 << 20;
/// How long a plugin may take: it may wait for a user who logs in elsewhere.
const MAX_RUN: Duration = Duration::from_secs(300);
/// A credential that is about to expire is not sent any more.
const EXPIRY_MARGIN: Duration = Duration::from_secs(10);

/// A program that hands out credentials.
pub(crate) struct ExecPlugin {
    user: String,
    exec: Exec,
    /// The cluster, where the plugin asks for it.
    cluster: Option<Value>,
    max_run: Duration,
    /// What it handed out last, and until when that is valid.
    last: Mutex<Option<(Identity, Option<Timestamp>)>>,
}

/// What goes with a request.
#[derive(Clone)]
pub(crate) struct Identity {
    /// The `Authorization` header.
    pub authorization: Option<Zeroizing<String>>,
    /// The connection's certificate and key, where a plugin handed them out.
    pub client: Option<(Pem, Pem)>,
}

/// The `Authorization` header of a token.
pub(super) fn bearer(token: &str) -> Zeroizing<String> {
    Zeroizing::new(format!("Bearer {}", token.trim()))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PluginAnswer {
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
    /// Takes what a user of a kubeconfig says of its plugin, which gets the cluster if it asks for that.
    pub(super) fn of(user: &str, exec: &Exec, cluster: Option<Value>) -> Result<Self> {
        let wrong = |problem: String, hint: &str| settings(format!("the exec plugin of user {user:?} {problem}"), hint);
        let version = exec.api_version.strip_prefix(EXEC_API_GROUP);
        match (exec.interactive_mode.as_deref().unwrap_or_default(), version) {
            ("Never" | "Always" | "IfAvailable", _) | ("", Some("v1beta1")) => {}
            ("", _) => return Err(wrong("has no interactiveMode".to_owned(), "v1 requires one: Never, IfAvailable or Always")),
            (other, _) => return Err(wrong(format!("has the unknown interactiveMode {other:?}"), "use Never, IfAvailable or Always")),
        }
        if !matches!(version, Some("v1" | "v1beta1")) {
            let hint = "update the plugin and the kubeconfig: kubectl supports client.authentication.k8s.io/v1 and v1beta1";
            return Err(wrong(format!("has the apiVersion {:?}", exec.api_version), hint));
        }
        if exec.command.as_os_str().is_empty() {
            return Err(wrong("has no command".to_owned(), "name the program in the kubeconfig"));
        }
        Ok(Self { user: user.to_owned(), exec: exec.clone(), cluster, max_run: MAX_RUN, last: Mutex::default() })
    }

    /// Returns what the plugin handed out, as long as that is valid, or runs it.
    pub(super) async fn identity(&self) -> Result<Identity> {
        let mut last = self.last.lock().await;
        if let Some((identity, _)) = last.as_ref().filter(|(_, expires)| expires.is_none_or(|end| end > Timestamp::now() + EXPIRY_MARGIN)) {
            return Ok(identity.clone());
        }
        let (identity, expires) = self.run().await?;
        *last = Some((identity.clone(), expires));
        Ok(identity)
    }

    /// Forgets what the plugin handed out. Returns whether there was something to forget.
    pub(super) async fn forget(&self) -> bool {
        self.last.lock().await.take().is_some()
    }

    /// Runs the plugin. What it prints on standard error goes to ours, as with kubectl.
    async fn run(&self) -> Result<(Identity, Option<Timestamp>)> {
        let mode = self.exec.interactive_mode.as_deref();
        let has_terminal = mode != Some("Never") && std::io::stdin().is_terminal();
        if mode == Some("Always") && !has_terminal {
            return Err(self.trouble("needs a terminal, but standard input is not one".to_owned()));
        }
        let mut info = json!({"apiVersion": self.exec.api_version, "kind": "ExecCredential", "spec": {"interactive": has_terminal}});
        if let Some(cluster) = &self.cluster {
            info["spec"]["cluster"] = cluster.clone();
        }
        let mut command = Command::new(&self.exec.command);
        command.args(self.exec.args.iter().flatten());
        command.envs(self.exec.env.iter().flatten().map(|variable| (&variable.name, &variable.value)));
        command.env("KUBERNETES_EXEC_INFO", info.to_string()).kill_on_drop(true);
        command.stdin(if has_terminal { Stdio::inherit() } else { Stdio::null() }).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| self.trouble(format!("cannot be run: {error}")))?;
        let mut text = Zeroizing::new(Vec::new());
        let read = async {
            if let Some(stdout) = child.stdout.take() {
                stdout.take(MAX_ANSWER_BYTES).read_to_end(&mut text).await?;
            }
            child.wait().await
        };
        let ended = tokio::time::timeout(self.max_run, read).await;
        let status = ended.map_err(|_| self.trouble(format!("did not end within {} s", self.max_run.as_secs())))?;
        let status = status.map_err(|error| self.trouble(format!("cannot be read: {error}")))?;
        if !status.success() {
            return Err(self.trouble(format!("failed ({status})")));
        }
        self.read(&text)
    }

    /// Reads what the plugin printed, JSON or YAML as in client-go. It is never quoted.
    fn read(&self, text: &[u8]) -> Result<(Identity, Option<Timestamp>)> {
        let answer: Option<PluginAnswer> = serde_json::from_slice(text).ok().or_else(|| serde_saphyr::from_slice(text).ok());
        let answer = answer.ok_or_else(|| self.trouble("did not print an ExecCredential".to_owned()))?;
        if answer.kind != "ExecCredential" || answer.api_version != self.exec.api_version {
            return Err(self.trouble(format!("printed something other than an ExecCredential of {}", self.exec.api_version)));
        }
        let Some(status) = answer.status else { return Err(self.trouble("printed no status".to_owned())) };
        let pem = |text: String| Pem::Text(Zeroizing::new(text.into_bytes()));
        let client = match (status.client_certificate_data, status.client_key_data) {
            (Some(certificate), Some(key)) => Some((pem(certificate), pem(key))),
            (None, None) => None,
            _ => return Err(self.trouble("printed a certificate or a key, not both".to_owned())),
        };
        let authorization = status.token.map(Zeroizing::new).filter(|token| !token.is_empty()).map(|token| bearer(&token));
        if authorization.is_none() && client.is_none() {
            return Err(self.trouble("printed neither a token nor a certificate".to_owned()));
        }
        let expires = status.expiration_timestamp.map(|time| time.parse()).transpose();
        let expires = expires.map_err(|_| self.trouble("printed an expirationTimestamp that is not a time".to_owned()))?;
        Ok((Identity { authorization, client }, expires))
    }

    fn trouble(&self, problem: String) -> Error {
        // Its arguments may hold credentials.
        let by_hand = "run it by hand, with the arguments that the kubeconfig has, to see why";
        let hint = self.exec.install_hint.as_deref().unwrap_or(by_hand).trim();
        settings(format!("the exec plugin {} of user {:?} {problem}", self.exec.command.display(), self.user), hint)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn plugin(script: &str) -> ExecPlugin {
        let exec = Exec {
            api_version: "client.authentication.k8s.io/v1".to_owned(),
            command: "sh".into(),
            args: Some(vec!["-c".to_owned(), script.to_owned()]),
            interactive_mode: Some("Never".to_owned()),
            ..Exec::default()
        };
        ExecPlugin::of("me", &exec, Some(json!({"server": "https://a"}))).unwrap()
    }

    async fn error(script: &str) -> String {
        plugin(script).run().await.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[tokio::test]
    async fn a_plugin_hands_out_a_token_and_learns_of_the_cluster() {
        // It passes only where the plugin was given the cluster.
        let script = r#"case "$KUBERNETES_EXEC_INFO" in *'"server":"https://a"'*) ;; *) exit 1;; esac
            echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t1","expirationTimestamp":"2026-11-26T22:00:00Z"}}'"#;
        let (identity, expires) = plugin(script).run().await.unwrap();
        assert_eq!(identity.authorization.as_ref().map(|header| header.as_str()), Some("Bearer t1"));
        assert_eq!(expires, Some("2026-11-26T22:00:00Z".parse().unwrap()));
        assert!(identity.client.is_none());
    }

    #[tokio::test]
    async fn a_plugin_may_print_yaml() {
        let script = r"printf 'apiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus: {token: t1}\n'";
        assert_eq!(plugin(script).identity().await.unwrap().authorization.as_ref().map(|header| header.as_str()), Some("Bearer t1"));
    }

    #[tokio::test]
    async fn a_plugin_that_fails_is_named_and_its_output_is_not_quoted() {
        assert!(error("exit 3").await.contains("failed"));
        let other = error("echo secret-token").await;
        assert!(other.contains("did not print an ExecCredential") && !other.contains("secret-token"), "{other}");
        let version = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"t"}}'"#;
        assert!(error(version).await.contains("something other than an ExecCredential of client.authentication.k8s.io/v1"));
        let time = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t","expirationTimestamp":"soon"}}'"#;
        assert!(error(time).await.contains("an expirationTimestamp that is not a time"));
        let nothing = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{}}'"#;
        assert!(error(nothing).await.contains("neither a token nor a certificate"));
    }

    #[tokio::test]
    async fn a_plugin_runs_again_when_its_credential_expired_or_was_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (expires, runs_before_refusal) in [("9999-01-01T00:00:00Z", 1), ("2000-01-01T00:00:00Z", 2)] {
            let count = folder.path().join(runs_before_refusal.to_string());
            let status = format!(r#"{{"token":"t","expirationTimestamp":"{expires}"}}"#);
            let answer = format!(r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{status}}}"#);
            let plugin = plugin(&format!("echo >> '{}'; echo '{answer}'", count.display()));
            assert!(!plugin.forget().await);
            plugin.identity().await.unwrap();
            plugin.identity().await.unwrap();
            assert_eq!(std::fs::read(&count).unwrap().len(), runs_before_refusal);
            assert!(plugin.forget().await);
            plugin.identity().await.unwrap();
            assert_eq!(std::fs::read(&count).unwrap().len(), runs_before_refusal + 1);
        }
    }

    #[tokio::test]
    async fn a_plugin_that_does_not_end_is_ended() {
        let endless = ExecPlugin { max_run: Duration::ZERO, ..plugin("exec tail -f /dev/null") };
        assert!(endless.run().await.err().unwrap().to_string().contains("did not end within 0 s"));
    }

    #[test]
    fn versions_that_kubectl_dropped_are_refused() {
        let exec = Exec {
            api_version: "client.authentication.k8s.io/v1alpha1".to_owned(),
            command: "a".into(),
            interactive_mode: Some("Never".to_owned()),
            ..Exec::default()
        };
        let error = ExecPlugin::of("me", &exec, None).err().unwrap().to_string();
        assert!(error.contains("v1alpha1"), "{error}");
    }
}
