//! A context of a kubeconfig, as a way to its API server.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use ketcd_store::Result;
use ketcd_store::tls::read_credentials;
use zeroize::Zeroizing;

use super::access::{Access, Credentials, Proxy, TlsSettings};
use super::exec_plugin::ExecPlugin;
use super::file::{Cluster, Context, Kubeconfig, User};
use super::in_cluster;
use super::pem::{Pem, pem};
use crate::limits::Limits;
use crate::problem::settings;

impl Access {
    /// Reads the kubeconfig as kubectl does, or takes a pod's service account where there is no kubeconfig. `given` is a file instead of those that
    /// `KUBECONFIG` names, `context` a context instead of the current one.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be used.
    pub fn load(given: Option<&Path>, context: Option<&str>, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        match Kubeconfig::load(given, environment)? {
            Some(kubeconfig) => Self::of(&kubeconfig, context),
            None => in_cluster::access(environment).ok_or_else(|| {
                let looked = match environment("KUBECONFIG").filter(|names| !names.is_empty()) {
                    Some(names) => format!("no kubeconfig is at {names}, which KUBECONFIG names"),
                    None => "there is no kubeconfig: ketcd looked for ~/.kube/config".to_owned(),
                };
                settings(looked, "name one in the variable KUBECONFIG")
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
        let cluster = kubeconfig.clusters.iter().find(|known| known.0 == context.cluster);
        let (_, cluster, place) = cluster.ok_or_else(|| missing("cluster", &context.cluster))?;
        let user = kubeconfig.users.iter().find(|known| known.0 == context.user);
        let user = if context.user.is_empty() { None } else { Some(user.ok_or_else(|| missing("user", &context.user))?) };
        let mut access = of_cluster(name, cluster, place)?;
        if let Some((user_name, user, place)) = user {
            access.take_user(user_name, user, place, cluster)?;
        }
        Ok(access)
    }

    fn take_user(&mut self, name: &str, user: &User, place: &Path, cluster: &Cluster) -> Result<()> {
        if let Some(provider) = &user.auth_provider {
            let provider = provider["name"].as_str().unwrap_or("?").to_owned();
            return Err(settings(
                format!("user {name:?} logs in by the auth provider {provider:?}, which kubectl does not support since 1.26 either"),
                "use the provider's exec plugin",
            ));
        }
        let certificate =
            pem(user.client_certificate.as_deref(), user.client_certificate_data.as_deref(), place, "client-certificate-data")?;
        let key = pem(user.client_key.as_deref(), user.client_key_data.as_deref(), place, "client-key-data")?;
        self.tls.client = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(settings(format!("user {name:?} has a client certificate or a key, not both"), "give both in the kubeconfig")),
        };
        self.impersonation = impersonation(user);
        let token = user.token.as_ref().filter(|token| !token.is_empty());
        let token_file = user.token_file.as_ref().filter(|path| !path.as_os_str().is_empty());
        let user_name = user.username.as_ref().filter(|name| !name.is_empty());
        // A token file wins over a token, as in client-go.
        self.credentials = match (token_file, token, user_name, &user.exec) {
            (Some(file), _, _, _) => Credentials::TokenFile(place.join(file)),
            (None, Some(token), _, _) => Credentials::Token(Zeroizing::new(token.clone())),
            (None, None, Some(user_name), _) => {
                let password = Zeroizing::new(user.password.clone().unwrap_or_default());
                Credentials::Basic { user: user_name.clone(), password }
            }
            (None, None, None, Some(exec)) => Credentials::Exec(ExecPlugin::of(name, exec, place, self.cluster_info(cluster, place))?),
            (None, None, None, None) => Credentials::None,
        };
        Ok(())
    }

    /// The cluster as an exec plugin gets it that asks for it.
    fn cluster_info(&self, cluster: &Cluster, place: &Path) -> serde_json::Value {
        let ca = match &self.tls.ca {
            Some(Pem::Text(text)) => Some(STANDARD.encode(&**text)),
            Some(Pem::File(_)) => cluster
                .certificate_authority
                .as_ref()
                .and_then(|path| read_credentials(&place.join(path)).ok())
                .map(|text| STANDARD.encode(&*text)),
            None => None,
        };
        let mut info = serde_json::json!({"server": cluster.server});
        let mut set = |name: &str, value: serde_json::Value| info[name] = value;
        if let Some(name) = &cluster.tls_server_name {
            set("tls-server-name", name.clone().into());
        }
        if cluster.insecure_skip_tls_verify {
            set("insecure-skip-tls-verify", true.into());
        }
        if let Some(ca) = ca {
            set("certificate-authority-data", ca.into());
        }
        if let Some(proxy) = &cluster.proxy_url {
            set("proxy-url", proxy.clone().into());
        }
        info
    }
}

fn pick<'k>(kubeconfig: &'k Kubeconfig, wanted: Option<&str>) -> Result<(&'k str, &'k Context)> {
    let wanted = wanted.filter(|name| !name.is_empty()).or(kubeconfig.current_context.as_deref());
    let names = || kubeconfig.contexts.iter().map(|context| &*context.0).collect::<Vec<_>>().join(", ");
    let Some(wanted) = wanted else {
        return Err(settings(
            format!("{} has no current context", kubeconfig.name()),
            &format!("name one with --context or -f kubeconfig:CONTEXT; it has: {}", names()),
        ));
    };
    let found = kubeconfig.contexts.iter().find(|context| context.0 == wanted);
    found
        .map(|(name, context)| (&**name, context))
        .ok_or_else(|| settings(format!("{} has no context {wanted:?}", kubeconfig.name()), &format!("its contexts are: {}", names())))
}

fn of_cluster(name: &str, cluster: &Cluster, place: &Path) -> Result<Access> {
    let wrong = |problem: &str| {
        settings(format!("the server of context {name:?} {problem}"), "expected a URL such as https://10.0.0.1:6443 in the kubeconfig")
    };
    // As client-go does, a server without a scheme is one without TLS.
    let has_scheme = cluster.server.contains("://");
    let text = if has_scheme { cluster.server.clone() } else { format!("http://{}", cluster.server) };
    let uri: Uri = text.parse().map_err(|_| wrong("is not a URL"))?;
    let uses_tls = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(wrong("has an unknown scheme")),
    };
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| wrong("has no host"))?;
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(wrong("holds credentials"));
    }
    let ca =
        pem(cluster.certificate_authority.as_deref(), cluster.certificate_authority_data.as_deref(), place, "certificate-authority-data")?;
    let tls = TlsSettings {
        ca,
        server_name: cluster.tls_server_name.clone().filter(|name| !name.is_empty()),
        is_insecure: cluster.insecure_skip_tls_verify,
        client: None,
    };
    Ok(Access {
        name: name.to_owned(),
        uses_tls,
        host: host.trim_matches(['[', ']']).to_owned(),
        port: port(&uri, if uses_tls { 443 } else { 80 }).ok_or_else(|| wrong("has a port that is no number from 1 to 65535"))?,
        path: uri.path().trim_end_matches('/').to_owned(),
        tls,
        proxy: cluster.proxy_url.as_deref().filter(|url| !url.is_empty()).map(proxy).transpose()?,
        credentials: Credentials::None,
        impersonation: Vec::new(),
        limits: Limits::default(),
        #[cfg(test)]
        listener: None,
    })
}

fn impersonation(user: &User) -> Vec<(&'static str, String)> {
    let mut headers: Vec<(&'static str, String)> = Vec::new();
    headers.extend(user.impersonate.iter().filter(|name| !name.is_empty()).map(|name| ("impersonate-user", name.clone())));
    headers.extend(user.as_uid.iter().filter(|uid| !uid.is_empty()).map(|uid| ("impersonate-uid", uid.clone())));
    headers.extend(user.as_groups.iter().flatten().map(|group| ("impersonate-group", group.clone())));
    headers
}

/// The port of a URL, or the usual one where it names none; `None` where what it names is no port.
fn port(uri: &Uri, usual: u16) -> Option<u16> {
    let authority = uri.authority()?.as_str();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // The colons in brackets are those of an address.
    match host.rsplit_once(']').map_or(host, |(_, rest)| rest).rsplit_once(':') {
        None | Some((_, "")) => Some(usual),
        Some((_, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => port.parse().ok().filter(|&port| port > 0),
        Some(_) => None,
    }
}

fn proxy(url: &str) -> Result<Proxy> {
    let wrong = |problem: &str| settings(format!("proxy-url {problem}"), "expected http://HOST:PORT or socks5://HOST:PORT");
    let uri: Uri = url.parse().map_err(|_| wrong("is not a URL"))?;
    let host = uri.host().ok_or_else(|| wrong("has no host"))?;
    let port = |usual| port(&uri, usual).ok_or_else(|| wrong("has a port that is no number from 1 to 65535"));
    let (credentials, _) = uri.authority().and_then(|authority| authority.as_str().rsplit_once('@')).unzip();
    match uri.scheme_str() {
        Some("http") => {
            let authorization = credentials.map(|pair| format!("Basic {}", STANDARD.encode(pair)));
            Ok(Proxy::Http { address: format!("{host}:{}", port(80)?), authorization })
        }
        Some("socks5" | "socks5h") if credentials.is_none() => Ok(Proxy::Socks5 { address: format!("{host}:{}", port(1080)?) }),
        Some("socks5" | "socks5h") => Err(wrong("holds credentials, which ketcd does not send to a SOCKS5 proxy")),
        _ => Err(wrong("has a scheme that ketcd does not support")),
    }
}

#[cfg(test)]
mod tests {
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
    fn servers() {
        for (server, url) in [
            ("https://10.0.0.1:6443", "https://10.0.0.1:6443"),
            ("https://rancher.example/k8s/clusters/c-1/", "https://rancher.example:443/k8s/clusters/c-1"),
            ("https://[fd00::1]:6443", "https://[fd00::1]:6443"),
            ("10.0.0.1:8080", "http://10.0.0.1:8080"),
        ] {
            assert_eq!(access(&format!("server: '{server}'"), "").unwrap().server(), url);
        }
        assert!(refused("server: 'ftp://a'", "").contains("has an unknown scheme"));
        for port in ["99999", "0", "65536", "99999999999999999999", "http"] {
            for server in [format!("server: 'http://127.0.0.1:{port}'"), format!("server: '[fd00::1]:{port}'")] {
                let error = refused(&server, "");
                assert!(
                    error.contains("has a port that is no number from 1 to 65535") || error.contains("is not a URL"),
                    "{server}: {error}"
                );
            }
            for scheme in ["http", "socks5"] {
                let error = refused(&format!("server: 'https://a', proxy-url: '{scheme}://p:{port}'"), "");
                assert!(error.contains("proxy-url has a port that is no number") || error.contains("is not a URL"), "{port}: {error}");
            }
        }
        let with_password = refused("server: 'https://me:pass@a'", "");
        assert!(with_password.contains("holds credentials") && !with_password.contains("pass@"), "{with_password}");
    }

    #[test]
    fn credentials_are_taken_in_client_gos_order() {
        let kind = |user: &str| match access("server: 'https://a'", user).unwrap().credentials {
            Credentials::None => "none".to_owned(),
            Credentials::Token(token) => format!("token {}", *token),
            Credentials::TokenFile(path) => format!("file {}", path.display()),
            Credentials::Basic { user, password } => format!("basic {user} {}", *password),
            Credentials::Exec(_) => "exec".to_owned(),
        };
        assert_eq!(kind(""), "none");
        assert_eq!(kind("token: abc"), "token abc");
        assert_eq!(kind("token: abc, tokenFile: t"), "file /conf/t");
        assert_eq!(kind("tokenFile: /t"), "file /t");
        assert_eq!(kind("username: me, password: pass"), "basic me pass");
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
        assert!(access("server: 'http://a'", "").unwrap().cautions()[0].contains("without TLS"));
    }

    #[test]
    fn proxies() {
        let proxy = |url: &str| access(&format!("server: 'https://a', proxy-url: '{url}'"), "").unwrap().proxy;
        assert_eq!(proxy("http://p:3128"), Some(Proxy::Http { address: "p:3128".to_owned(), authorization: None }));
        let authorization = Some("Basic bWU6cGFzcw==".to_owned());
        assert_eq!(proxy("http://me:pass@p"), Some(Proxy::Http { address: "p:80".to_owned(), authorization }));
        assert_eq!(proxy("socks5://localhost"), Some(Proxy::Socks5 { address: "localhost:1080".to_owned() }));
    }
}
