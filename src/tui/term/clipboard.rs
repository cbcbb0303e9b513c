//! What the clipboard of this machine holds, by the programs that desktops have for it.
//!
//! Only asked when the person pastes. The programs are the desktop's own, found on the `PATH` and told
//! nothing that a model said, so they run as they are and not in the sandbox; each has a bound on its
//! time and on what it may say. Writing is [`super::escape::copy`]'s.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

/// How long one program may take: a clipboard's owner may be slow, or gone.
const LIMIT: Duration = Duration::from_secs(3);
/// Bytes of one answer.
const MOST: u64 = 32 << 20;

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clip {
    Text(String),
    /// A PNG.
    Image(Vec<u8>),
}

/// Why nothing came, in words for a person.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Trouble {
    #[error("no program reads the clipboard here; install {0}")]
    NoProgram(&'static str),
    #[error("the clipboard is empty, or holds neither text nor an image")]
    Empty,
    #[error("{0} did not answer within 3 s; copy again")]
    Silent(String),
}

/// A program, and what it has to be told.
#[derive(Clone, Copy, Debug)]
struct Tool {
    program: &'static str,
    image: &'static [&'static str],
    text: &'static [&'static str],
}

/// wl-clipboard 2.2.
const WAYLAND: Tool = Tool {
    program: "wl-paste",
    image: &["--type", "image/png"],
    text: &["--no-newline", "--type", "text/plain;charset=utf-8"],
};
/// xclip 0.13.
const X11: Tool = Tool {
    program: "xclip",
    image: &["-selection", "clipboard", "-target", "image/png", "-out"],
    text: &["-selection", "clipboard", "-target", "UTF8_STRING", "-out"],
};
/// It has text only.
const MAC: Tool = Tool { program: "pbpaste", image: &[], text: &[] };
/// Also from within WSL.
const WINDOWS: Tool = Tool {
    program: "powershell.exe",
    image: &[],
    text: &[
        "-NoProfile",
        "-Command",
        "[Console]::OutputEncoding = [Text.Encoding]::UTF8; Get-Clipboard -Raw",
    ],
};

/// Reads the clipboard: an image if there is one, else text. `variable` is the environment's.
///
/// # Errors
/// If there is no program for it, nothing in it, or no answer.
pub async fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Clip, Trouble> {
    let (tools, install) = tools(&variable);
    read_by(tools, variable("PATH").as_deref()).await?.ok_or(Trouble::NoProgram(install))
}

/// Which programs to try, and which one to install if none is there.
fn tools(variable: impl Fn(&str) -> Option<String>) -> (&'static [Tool], &'static str) {
    let set = |name| variable(name).is_some_and(|value| !value.is_empty());
    if cfg!(target_os = "macos") {
        (&[MAC], "pbpaste")
    } else if cfg!(windows) {
        (&[WINDOWS], "PowerShell")
    } else if set("WAYLAND_DISPLAY") {
        (&[WAYLAND, X11, WINDOWS], "wl-clipboard")
    } else if set("DISPLAY") {
        (&[X11, WINDOWS], "xclip")
    } else {
        (&[WINDOWS], "wl-clipboard or xclip, on a desktop; over ssh, paste with the terminal's own key")
    }
}

/// None if none of the programs is there.
async fn read_by(tools: &[Tool], path: Option<&str>) -> Result<Option<Clip>, Trouble> {
    for tool in tools {
        let image =
            if tool.image.is_empty() { Some(Vec::new()) } else { ask(tool, tool.image, path).await? };
        let Some(image) = image else { continue };
        if image.starts_with(b"\x89PNG\r\n\x1a\n") {
            return Ok(Some(Clip::Image(image)));
        }
        let Some(text) = ask(tool, tool.text, path).await? else { continue };
        let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
        return if text.is_empty() { Err(Trouble::Empty) } else { Ok(Some(Clip::Text(text))) };
    }
    Ok(None)
}

/// What the program says; nothing if it failed. None if it is not there.
async fn ask(tool: &Tool, args: &[&str], path: Option<&str>) -> Result<Option<Vec<u8>>, Trouble> {
    let mut command = Command::new(tool.program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    if let Some(path) = path {
        // It also decides where the program is found.
        command.env("PATH", path);
    }
    let Ok(mut child) = command.spawn() else { return Ok(None) };
    let run = async {
        let mut said = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout.take(MOST).read_to_end(&mut said).await?;
        }
        // With more than that it would wait for someone to read on.
        if said.len() as u64 >= MOST {
            child.kill().await?;
        }
        let good = child.wait().await?.success();
        io::Result::Ok(if good { said } else { Vec::new() })
    };
    match tokio::time::timeout(LIMIT, run).await {
        Ok(said) => Ok(Some(said.unwrap_or_default())),
        Err(_) => Err(Trouble::Silent(tool.program.to_owned())),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A folder with a program that plays wl-paste or xclip.
    fn desktop(program: &str, script: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(program);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        dir
    }

    async fn read_on(dir: &tempfile::TempDir, display: &str) -> Result<Clip, Trouble> {
        let path = dir.path().to_str().unwrap().to_owned();
        read(|name| match name {
            "PATH" => Some(path.clone()),
            name if name == display => Some(":0".to_owned()),
            _ => None,
        })
        .await
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn an_image_comes_before_text() {
        let text = r#"case "$*" in *image/png*) exit 1 ;; *) printf 'h\303\251\r\n2' ;; esac"#;
        let image = r#"case "$*" in *image/png*) printf '\211PNG\r\n\032\n...' ;; *) printf text ;; esac"#;
        let said = |text: &str| Ok(Clip::Text(text.to_owned()));
        for (program, script, display, want) in [
            ("wl-paste", text, "WAYLAND_DISPLAY", said("hé\n2")),
            ("xclip", text, "DISPLAY", said("hé\n2")),
            ("xclip", text, "WAYLAND_DISPLAY", said("hé\n2")),
            ("powershell.exe", "printf there", "NONE", said("there")),
            ("wl-paste", image, "WAYLAND_DISPLAY", Ok(Clip::Image(b"\x89PNG\r\n\x1a\n...".to_vec()))),
            ("wl-paste", "exit 1", "WAYLAND_DISPLAY", Err(Trouble::Empty)),
            ("other", "", "WAYLAND_DISPLAY", Err(Trouble::NoProgram("wl-clipboard"))),
            ("other", "", "DISPLAY", Err(Trouble::NoProgram("xclip"))),
        ] {
            let dir = desktop(program, script);
            assert_eq!(read_on(&dir, display).await, want, "{program} {script}");
        }
    }
}
