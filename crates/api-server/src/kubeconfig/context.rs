//! A context of a kubeconfig, or a pod's service account, as a way to an API server.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ketcd_store::Result;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::access::{Access, TlsSettings};
use super::address::{Proxy, Server};
use super::credentials::Credentials;
use super::exec_plugin::{ExecPlugin, bearer};
use super::file::{Cluster, Context, Kubeconfig, User};
use super::pem::Pem;
use crate::limits::Limits;
use crate::problem::settings;

/// Where the kubelet mounts a pod's service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// What an extension of a cluster is called that its exec plugins get (client-go v0.36 `tools/clientcmd/client_config.go`).
const PLUGIN_EXTENSION: &str = "client.authentication.k8s.io/exec";

impl Access {
    /// Reads the kubeconfig as kubectl does, or takes a pod's service account where there is no kubeconfig. `given` is a file instead of those that
    /// `KUBECONFIG` names, `context` a context instead of the current one.
    ///
    /// # Errors
    ///
    /// No kubeconfig exists, or it cannot be used.
    pub fn load(given: Option<&Path>, context: Option<&str>, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        match Kubeconfig::load(given, environment)? {
            Some(kubeconfig) => Self::of(&kubeconfig, context),
            None => Self::in_cluster(Path::new(SERVICE_ACCOUNT), environment).unwrap_or_else(|| {
                let looked = match environment("KUBECONFIG").filter(|names| !names.is_empty()) {
                    Some(names) => format!("no kubeconfig is at {names}, which KUBECONFIG names"),
                    None => "there is no kubeconfig: ketcd looked for ~/.kube/config".to_owned(),
                };
                Err(settings(looked, "name one in the variable KUBECONFIG"))
            }),
        }
    }

    /// Takes a context of a kubeconfig: the current one where none is given.
    ///
    /// # Errors
    ///
    /// The kubeconfig does not have it, or what it says cannot be used.
    pub fn of(kubeconfig: &Kubeconfig, context: Option<&str>) -> Result<Self> {
        let (name, context) = pick(kubeconfig, context)?;
        let missing = |what: &str, missing: &str| {
            settings(
                format!("context {name:?} names the {what} {missing:?}, which {} does not have", kubeconfig.name()),
                "kubectl config view shows what it has",
            )
        };
        let cluster = find(&kubeconfig.clusters, &context.cluster).ok_or_else(|| missing("cluster", &context.cluster))?;
        let mut access = Self::to(name, cluster)?;
        if !context.user.is_empty() {
            let user = find(&kubeconfig.users, &context.user).ok_or_else(|| missing("user", &context.user))?;
            access.take_user(&context.user, user, cluster)?;
        }
        Ok(access)
    }

    /// A pod's own way to the API server (client-go v0.36 `rest.InClusterConfig`); `None` outside of a cluster.
    fn in_cluster(folder: &Path, environment: &dyn Fn(&str) -> Option<String>) -> Option<Result<Self>> {
        let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
        let (host, port) = (variable("KUBERNETES_SERVICE_HOST")?, variable("KUBERNETES_SERVICE_PORT")?);
        let token = Some(folder.join("token")).filter(|token| token.is_file())?;
        let host = if host.contains(':') { format!("[{}]", host.trim_matches(['[', ']'])) } else { host };
        let certificate_authority = Some(folder.join("ca.crt"));
        let cluster = Cluster { server: format!("https://{host}:{port}"), certificate_authority, ..Cluster::default() };
        Some(Self::to("in-cluster", &cluster).map(|access| Self { credentials: Credentials::TokenFile(token), ..access }))
    }

    /// The way to a cluster, as nobody yet.
    fn to(context: &str, cluster: &Cluster) -> Result<Self> {
        let wrong_server = |problem| {
            let hint = "expected a URL such as https://10.0.0.1:6443 in the kubeconfig";
            settings(format!("the server of context {context:?} {problem}"), hint)
        };
        let wrong_proxy = |problem| settings(format!("proxy-url {problem}"), "expected http://HOST:PORT or socks5://HOST:PORT");
        Ok(Self {
            name: context.to_owned(),
            address: Server::parse(&cluster.server).map_err(wrong_server)?,
            tls: TlsSettings {
                ca: Pem::of(
                    cluster.certificate_authority.as_ref(),
                    cluster.certificate_authority_data.as_ref(),
                    "certificate-authority-data",
                )?,
                server_name: given(&cluster.tls_server_name).map(str::to_owned),
                is_insecure: cluster.insecure_skip_tls_verify,
                client: None,
            },
            proxy: given(&cluster.proxy_url).map(Proxy::parse).transpose().map_err(wrong_proxy)?,
            credentials: Credentials::None,
            impersonation: Vec::new(),
            limits: Limits::default(),
            #[cfg(test)]
            listener: None,
        })
    }

    fn take_user(&mut self, name: &str, user: &User, cluster: &Cluster) -> Result<()> {
        if let Some(provider) = &user.auth_provider {
            let provider = provider["name"].as_str().unwrap_or("?").to_owned();
            return Err(settings(
                format!("user {name:?} logs in by the auth provider {provider:?}, which kubectl does not support since 1.26 either"),
                "use the provider's exec plugin",
            ));
        }
        let certificate = Pem::of(user.client_certificate.as_ref(), user.client_certificate_data.as_ref(), "client-certificate-data")?;
        let key = Pem::of(user.client_key.as_ref(), user.client_key_data.as_ref(), "client-key-data")?;
        self.tls.client = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(settings(format!("user {name:?} has a client certificate or a key, not both"), "give both in the kubeconfig")),
        };
        self.impersonation = impersonation(user);
        // A token file wins over a token, as in client-go.
        self.credentials = if let Some(file) = &user.token_file {
            Credentials::TokenFile(file.clone())
        } else if let Some(token) = given(&user.token) {
            Credentials::Header(bearer(token))
        } else if let Some(user_name) = given(&user.username) {
            let pair = Zeroizing::new(format!("{user_name}:{}", user.password.as_deref().unwrap_or_default()));
            Credentials::Header(Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes()))))
        } else if let Some(exec) = &user.exec {
            let cluster = exec.provide_cluster_info.then(|| self.cluster_info(cluster)).transpose()?;
            Credentials::Exec(Box::new(ExecPlugin::of(name, exec, cluster)?))
        } else {
            Credentials::None
        };
        Ok(())
    }

    /// The cluster as an exec plugin gets it that asks for it.
    fn cluster_info(&self, cluster: &Cluster) -> Result<Value> {
        let ca = self.tls.ca.as_ref().map(|ca| ca.read("CA")).transpose()?;
        let mut extensions = cluster.extensions.iter().flatten();
        let mut info = json!({
            "server": cluster.server,
            "tls-server-name": cluster.tls_server_name,
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify.then_some(true),
            "certificate-authority-data": ca.map(|ca| STANDARD.encode(&*ca)),
            "proxy-url": cluster.proxy_url,
            "config": extensions.find(|known| known.name == PLUGIN_EXTENSION).map(|known| &known.extension),
        });
        if let Value::Object(fields) = &mut info {
            fields.retain(|_, value| !value.is_null());
        }
        Ok(info)
    }
}

/// What is given and not empty.
fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

fn find<'k, T>(entries: &'k [(String, T)], name: &str) -> Option<&'k T> {
    entries.iter().find(|known| known.0 == name).map(|known| &known.1)
}

fn pick<'k>(kubeconfig: &'k Kubeconfig, wanted: Option<&'k str>) -> Result<(&'k str, &'k Context)> {
    let wanted = wanted.filter(|name| !name.is_empty()).or(kubeconfig.current_context.as_deref());
    let names = || kubeconfig.contexts.iter().map(|context| &*context.0).collect::<Vec<_>>().join(", ");
    let Some(wanted) = wanted else {
        return Err(settings(
            format!("{} has no current context", kubeconfig.name()),
            &format!("name one with --context or -f kubeconfig:CONTEXT; it has: {}", names()),
        ));
    };
    let context = find(&kubeconfig.contexts, wanted);
    context
        .map(|context| (wanted, context))
        .ok_or_else(|| settings(format!("{} has no context {wanted:?}", kubeconfig.name()), &format!("its contexts are: {}", names())))
}

/// The `Impersonate-*` headers of a user (client-go v0.36 `transport/round_trippers.go`).
fn impersonation(user: &User) -> Vec<(String, String)> {
    let one = |name: &str, value: &Option<String>| given(value).map(|value| (name.to_owned(), value.to_owned()));
    let groups = user.as_groups.iter().flatten().map(|group| ("impersonate-group".to_owned(), group.clone()));
    let extra = user.as_user_extra.iter().flatten().flat_map(|(key, values)| {
        let name = format!("impersonate-extra-{}", in_header_name(key));
        values.iter().map(move |value| (name.clone(), value.clone()))
    });
    let user = [one("impersonate-user", &user.impersonate), one("impersonate-uid", &user.as_uid)];
    user.into_iter().flatten().chain(groups).chain(extra).collect()
}

/// A key with what no header's name may hold, and `%`, written as `%XX`.
fn in_header_name(key: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte);
    key.bytes().map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::file::Extension;
    use super::*;

    fn access(cluster: &str, user: &str) -> Result<Access> {
        let text = format!(
            "current-context: one\ncontexts: [{{name: one, context: {{cluster: c, user: u}}}}, {{name: two, context: {{cluster: gone}}}}]\n\
             clusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
        );
        Access::of(&Kubeconfig::parse(&text, Path::new("/conf")).unwrap(), None)
    }

    fn refused(cluster: &str, user: &str) -> String {
        access(cluster, user).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn server_and_proxy_that_cannot_be_used_are_named() {
        let port = refused("server: 'http://127.0.0.1:99999'", "");
        assert!(port.contains("the server of context \"one\" has a port that is not a number from 1 to 65535"), "{port}");
        let proxy = refused("server: 'https://a', proxy-url: 'http://p:99999'", "");
        assert!(proxy.contains("proxy-url has a port that is not a number from 1 to 65535"), "{proxy}");
        let with_password = refused("server: 'https://me:pass@a'", "");
        assert!(with_password.contains("holds credentials") && !with_password.contains("pass@"), "{with_password}");
    }

    #[test]
    fn credentials_are_taken_in_client_gos_order() {
        let kind = |user: &str| match access("server: 'https://a'", user).unwrap().credentials {
            Credentials::None => "none".to_owned(),
            Credentials::Header(header) => header.to_string(),
            Credentials::TokenFile(path) => format!("file {}", path.display()),
            Credentials::Exec(_) => "exec".to_owned(),
        };
        assert_eq!(kind(""), "none");
        assert_eq!(kind("token: abc"), "Bearer abc");
        assert_eq!(kind("token: abc, tokenFile: t"), "file /conf/t");
        assert_eq!(kind("tokenFile: /t"), "file /t");
        assert_eq!(kind("username: me, password: pass"), "Basic bWU6cGFzcw==");
        assert_eq!(kind("exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never}"), "exec");
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        assert!(refused("server: 'https://a'", "auth-provider: {name: gcp}").contains("auth provider \"gcp\""));
        assert!(refused("server: 'https://a'", "client-certificate: c.crt").contains("not both"));
        assert!(refused("server: 'https://a', certificate-authority-data: '%'", "").contains("not base64"));
        assert!(refused("server: 'https://a', proxy-url: 'ftp://p'", "").contains("does not support"));
        let kubeconfig = Kubeconfig::parse("contexts: [{name: two, context: {cluster: gone}}]", Path::new("/")).unwrap();
        let error = |context| Access::of(&kubeconfig, context).err().unwrap().to_string();
        assert!(error(None).contains("has no current context"));
        assert!(error(Some("three")).contains("has no context \"three\""));
        assert!(error(Some("two")).contains("\"gone\""));
    }

    #[test]
    fn a_kubeconfig_that_is_not_there_is_named() {
        let load = |given: Option<&str>, variables: &[(&str, &str)]| {
            let environment = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            Access::load(given.map(Path::new), None, &environment).err().unwrap().to_string()
        };
        let named = load(None, &[("KUBECONFIG", "/nowhere/one:/nowhere/two"), ("HOME", "/nowhere")]);
        assert!(named.contains("no kubeconfig is at /nowhere/one:/nowhere/two, which KUBECONFIG names"), "{named}");
        for variables in [&[("HOME", "/nowhere")][..], &[("HOME", "/nowhere"), ("KUBECONFIG", "")], &[]] {
            let usual = load(None, variables);
            assert!(usual.contains("there is no kubeconfig: ketcd looked for ~/.kube/config"), "{usual}");
        }
        let given = load(Some("/nowhere/given"), &[("KUBECONFIG", "/nowhere/one")]);
        assert!(given.contains("cannot read the kubeconfig /nowhere/given: ") && !given.contains("/nowhere/one"), "{given}");
    }

    #[test]
    fn an_unsafe_way_is_cautioned_against() {
        assert!(access("server: 'https://a'", "").unwrap().cautions().is_empty());
        let insecure = access("server: 'https://a', insecure-skip-tls-verify: true", "").unwrap().cautions();
        assert!(insecure.len() == 1 && insecure[0].contains("accepts any certificate"), "{insecure:?}");
        assert!(access("server: 'http://a'", "").unwrap().cautions()[0].contains("has no TLS"));
    }

    #[test]
    fn impersonation_is_sent_whole() {
        let user = "as: me, as-uid: u1, as-groups: [a, b], as-user-extra: {example.org/Scopes: [view, dev], '%': [x]}";
        let headers: Vec<String> =
            access("server: 'https://a'", user).unwrap().impersonation.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let expected = [
            "impersonate-user: me",
            "impersonate-uid: u1",
            "impersonate-group: a",
            "impersonate-group: b",
            "impersonate-extra-%25: x",
            "impersonate-extra-example.org%2FScopes: view",
            "impersonate-extra-example.org%2FScopes: dev",
        ];
        assert_eq!(headers, expected);
    }

    #[test]
    fn exec_plugin_gets_the_cluster_with_its_extension() {
        let cluster = Cluster {
            server: "https://a".to_owned(),
            certificate_authority_data: Some(STANDARD.encode("ca")),
            extensions: Some(vec![Extension { name: PLUGIN_EXTENSION.to_owned(), extension: json!({"audience": "me"}) }]),
            ..Cluster::default()
        };
        let info = Access::to("one", &cluster).unwrap().cluster_info(&cluster).unwrap();
        assert_eq!(info, json!({"server": "https://a", "certificate-authority-data": "Y2E=", "config": {"audience": "me"}}));
        let gone = Cluster { server: "https://a".to_owned(), certificate_authority: Some("/nowhere/ca.crt".into()), ..Cluster::default() };
        let error = Access::to("one", &gone).unwrap().cluster_info(&gone).unwrap_err().to_string();
        assert!(error.contains("cannot read the CA /nowhere/ca.crt"), "{error}");
    }

    #[test]
    fn pod_uses_its_service_account() {
        let folder = tempfile::tempdir().unwrap();
        let in_cluster = |host: &str, port: &str| {
            Access::in_cluster(folder.path(), &|name| match name {
                "KUBERNETES_SERVICE_HOST" => Some(host.to_owned()),
                "KUBERNETES_SERVICE_PORT" => Some(port.to_owned()),
                _ => None,
            })
        };
        assert!(in_cluster("10.0.0.1", "443").is_none());
        std::fs::write(folder.path().join("token"), "abc").unwrap();
        assert!(in_cluster("", "443").is_none());
        for (host, server) in [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")] {
            let access = in_cluster(host, "443").unwrap().unwrap();
            assert_eq!(access.server(), server);
            assert!(matches!(&access.credentials, Credentials::TokenFile(path) if *path == folder.path().join("token")));
            assert!(matches!(&access.tls.ca, Some(Pem::File(path)) if *path == folder.path().join("ca.crt")));
        }
        assert!(in_cluster("10.0.0.1", "tcp").unwrap().err().unwrap().to_string().contains("context \"in-cluster\" "));
    }
}
