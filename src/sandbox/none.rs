//! No sandbox: commands run with the user's own rights. Only for full access.

use async_trait::async_trait;

use super::process::{Session, Start, Tree};
use super::{Cmd, Mode, Policy, Running, Sandbox, SandboxError, Tier};

/// Runs commands as they are, and refuses any policy that asks for less than full access.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

#[async_trait]
impl Sandbox for Plain {
    fn tier(&self) -> Tier {
        Tier::None
    }

    async fn spawn(&self, policy: &Policy, cmd: &Cmd) -> Result<Box<dyn Running>, SandboxError> {
        match policy.mode {
            Mode::DangerFullAccess => Ok(Box::new(start(cmd).await?)),
            Mode::ReadOnly | Mode::WorkspaceWrite => {
                Err(SandboxError::Unavailable("this policy needs a sandbox, and none is in use".into()))
            }
        }
    }
}

/// Starts a command with nothing around it.
pub(super) async fn start(cmd: &Cmd) -> Result<Tree, SandboxError> {
    let start = Start {
        program: cmd.program.clone(),
        args: cmd.args.clone(),
        cwd: &cmd.cwd,
        cmd,
        keep: Vec::new(),
        session: Session::New,
        own: 1,
    };
    Tree::start(start)
        .await
        .map_err(|source| SandboxError::Spawn { program: cmd.program.to_string_lossy().into_owned(), source })
}
