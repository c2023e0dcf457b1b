//! kubectl's commands that cannot be: those that write, and those that ask something other than etcd. Each says why, and what to do instead.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand};

use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::Output;
use crate::cli::session::command::Run;

/// Why there is no such command.
#[derive(Clone, Copy, Debug)]
enum Reason {
    /// It changes objects; kubectl does that.
    Writes,
    /// It asks the kubelet of a pod's node.
    AsksKubelet,
    /// Logs are files on the node.
    Logs,
    /// Metrics are in no etcd.
    Metrics,
}

/// A command of kubectl's that ketcd does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    command: &'static str,
    reason: Reason,
}

const REFUSED_COMMANDS: &[Refused] = &[
    Refused { command: "annotate", reason: Reason::Writes },
    Refused { command: "apply", reason: Reason::Writes },
    Refused { command: "attach", reason: Reason::AsksKubelet },
    Refused { command: "autoscale", reason: Reason::Writes },
    Refused { command: "cordon", reason: Reason::Writes },
    Refused { command: "cp", reason: Reason::AsksKubelet },
    Refused { command: "create", reason: Reason::Writes },
    Refused { command: "debug", reason: Reason::Writes },
    Refused { command: "delete", reason: Reason::Writes },
    Refused { command: "drain", reason: Reason::Writes },
    Refused { command: "edit", reason: Reason::Writes },
    Refused { command: "exec", reason: Reason::AsksKubelet },
    Refused { command: "expose", reason: Reason::Writes },
    Refused { command: "label", reason: Reason::Writes },
    Refused { command: "logs", reason: Reason::Logs },
    Refused { command: "patch", reason: Reason::Writes },
    Refused { command: "port-forward", reason: Reason::AsksKubelet },
    Refused { command: "replace", reason: Reason::Writes },
    Refused { command: "rollout", reason: Reason::Writes },
    Refused { command: "run", reason: Reason::Writes },
    Refused { command: "scale", reason: Reason::Writes },
    Refused { command: "set", reason: Reason::Writes },
    Refused { command: "taint", reason: Reason::Writes },
    Refused { command: "top", reason: Reason::Metrics },
    Refused { command: "uncordon", reason: Reason::Writes },
];

impl Run for Refused {
    /// Says why there is no such command.
    fn run(&self, _global: &GlobalArgs, _out: &mut Output) -> Result<Outcome> {
        Err(self.error())
    }
}

impl Refused {
    fn error(&self) -> Error {
        let command = self.command;
        let (why, instead) = match self.reason {
            Reason::Writes => ("ketcd never writes to a cluster".to_owned(), format!("use kubectl {command}{}", self.shown_here())),
            Reason::AsksKubelet => {
                (format!("{command} asks the kubelet of the pod's node, and ketcd reads only etcd"), format!("use kubectl {command}"))
            }
            Reason::Logs => (
                "logs are not in etcd but on the pod's node, in /var/log/pods/NAMESPACE_POD_UID/CONTAINER/".to_owned(),
                "read them there or with kubectl logs; ketcd describe and ketcd timeline show what happened to the pod".to_owned(),
            ),
            Reason::Metrics => (
                "use of CPU and memory is not in etcd: metrics-server keeps it in memory".to_owned(),
                "use kubectl top; ketcd describe node/NAME shows what its pods request".to_owned(),
            ),
        };
        Error::new(why).hint(instead)
    }

    /// What shows the same without changing it.
    fn shown_here(&self) -> &'static str {
        match self.command {
            "rollout" => "; ketcd timeline and ketcd history show rollouts",
            "edit" => "; ketcd get -o yaml shows the object",
            _ => "",
        }
    }
}

impl FromArgMatches for Refused {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let found = matches.subcommand_name().and_then(|name| REFUSED_COMMANDS.iter().find(|refused| refused.command == name));
        found.copied().ok_or_else(|| clap::Error::new(ErrorKind::InvalidSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Refused {
    fn augment_subcommands(command: Command) -> Command {
        // Whatever kubectl takes after it, flags too. Its own -f stands in the way of ours, which wants a value.
        let words = Arg::new("words").action(ArgAction::Append).num_args(0..).trailing_var_arg(true).allow_hyphen_values(true);
        let follow = Arg::new("files").short('f').long("file").action(ArgAction::Append).num_args(0..);
        REFUSED_COMMANDS.iter().fold(command, |command, refused| {
            command.subcommand(Command::new(refused.command).hide(true).args([words.clone(), follow.clone()]))
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        REFUSED_COMMANDS.iter().any(|refused| refused.command == name)
    }
}
