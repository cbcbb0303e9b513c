//! The clipboard of this machine, by the programs that desktops have for it.
//!
//! Only used when the person pastes or copies. The programs are the desktop's own, found on the `PATH` and told
//! nothing that a model said, so they run as they are and not in the sandbox; each has a bound on its
//! time and on what it may say. Over ssh the
//! clipboard is the terminal's: [`super::escape::copy`].

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
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

/// A program, and what it has to be told to give an image or text; None for what it does not give.
#[derive(Clone, Copy, Debug)]
struct Tool {
    program: &'static str,
    image: Option<&'static [&'static str]>,
    text: Option<&'static [&'static str]>,
}

/// wl-clipboard 2.2.
const WAYLAND: Tool = Tool {
    program: "wl-paste",
    image: Some(&["--type", "image/png"]),
    text: Some(&["--no-newline", "--type", "text/plain;charset=utf-8"]),
};
/// xclip 0.13.
const X11: Tool = Tool {
    program: "xclip",
    image: Some(&["-selection", "clipboard", "-target", "image/png", "-out"]),
    text: Some(&["-selection", "clipboard", "-target", "UTF8_STRING", "-out"]),
};
/// What each of macOS gives: `pngpaste` is there if the person installed it, AppleScript writes the bytes out.
const MAC: [Tool; 3] = [
    Tool { program: "pngpaste", image: Some(&["-"]), text: None },
    Tool { program: "osascript", image: Some(&["-e", "get the clipboard as «class PNGf»"]), text: None },
    Tool { program: "pbpaste", image: None, text: Some(&[]) },
];
/// Also from within WSL.
const WINDOWS: Tool = Tool {
    program: "powershell.exe",
    image: Some(&[
        "-NoProfile",
        "-Sta",
        "-Command",
        "Add-Type -AssemblyName System.Windows.Forms, System.Drawing; \
         $image = [Windows.Forms.Clipboard]::GetImage(); if ($image) { $bytes = New-Object IO.MemoryStream; \
         $image.Save($bytes, [Drawing.Imaging.ImageFormat]::Png); \
         $bytes.WriteTo([Console]::OpenStandardOutput()) }",
    ]),
    text: Some(&[
        "-NoProfile",
        "-Command",
        "[Console]::OutputEncoding = [Text.Encoding]::UTF8; Get-Clipboard -Raw",
    ]),
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
        (&MAC, "pbpaste")
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
        if let Some(args) = tool.image {
            let Some(image) = ask(tool, args, path).await? else { continue };
            let image = of_apple_script(&image).unwrap_or(image);
            if image.starts_with(b"\x89PNG\r\n\x1a\n") {
                return Ok(Some(Clip::Image(image)));
            }
        }
        let Some(args) = tool.text else { continue };
        let Some(text) = ask(tool, args, path).await? else { continue };
        let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
        return if text.is_empty() { Err(Trouble::Empty) } else { Ok(Some(Clip::Text(text))) };
    }
    Ok(None)
}

/// The bytes of `«data PNGf89504E…»`, as AppleScript shows them.
fn of_apple_script(said: &[u8]) -> Option<Vec<u8>> {
    let digits = std::str::from_utf8(said).ok()?.trim().strip_prefix("«data PNGf")?.strip_suffix('»')?;
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map(pair).collect()
}

/// Gives a text to the program that has the desktop's clipboard. False: there is none, or it would not take it.
pub async fn write(text: String, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| variable(name).is_some_and(|value| !value.is_empty());
    let far = set("SSH_CONNECTION") || set("SSH_TTY");
    let (program, args): (_, &[&str]) = match () {
        () if far => return false,
        () if cfg!(target_os = "macos") => ("pbcopy", &[]),
        () if set("WAYLAND_DISPLAY") => ("wl-copy", &[]),
        () if set("DISPLAY") => ("xclip", &["-selection", "clipboard", "-in"]),
        () => return false,
    };
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    if let Some(path) = variable("PATH") {
        command.env("PATH", path);
    }
    let Ok(mut child) = command.spawn() else { return false };
    let run = async {
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(text.as_bytes()).await?;
        }
        io::Result::Ok(child.wait().await?.success())
    };
    tokio::time::timeout(LIMIT, run).await.is_ok_and(|done| done.unwrap_or(false))
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

    #[test]
    fn bytes_that_are_written_out_are_read() {
        assert_eq!(of_apple_script("«data PNGf89504E47»\n".as_bytes()).unwrap(), b"\x89PNG");
        for other in ["", "«data PNGf8»x", "«data PNGfzz»", "text"] {
            assert_eq!(of_apple_script(other.as_bytes()), None, "{other}");
        }
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn a_text_is_given_to_the_desktop_that_is_near() {
        let text = format!("hé\n{}", "x".repeat(200_000));
        for (program, display, far, want) in [
            ("wl-copy", "WAYLAND_DISPLAY", false, true),
            ("xclip", "DISPLAY", false, true),
            ("xclip", "WAYLAND_DISPLAY", false, false),
            ("wl-copy", "WAYLAND_DISPLAY", true, false),
        ] {
            let dir = desktop(
                program,
                "PATH=/usr/bin:/bin; echo \"$*\" >\"$(dirname \"$0\")\"/args; cat >\"$(dirname \"$0\")\"/got",
            );
            let path = dir.path().to_str().unwrap().to_owned();
            let done = write(text.clone(), |name| match name {
                "PATH" => Some(path.clone()),
                "SSH_TTY" if far => Some("/dev/pts/1".to_owned()),
                name if name == display => Some(":0".to_owned()),
                _ => None,
            });
            assert_eq!(done.await, want, "{program} {display}");
            let got = std::fs::read_to_string(dir.path().join("got")).unwrap_or_default();
            assert_eq!(got == text, want, "{program} {display}");
        }
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
