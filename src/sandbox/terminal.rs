//! A terminal of a command's own: made where the command can see it, and handed to us.
//!
//! Outside a sandbox that is here. Inside one the helper makes it on the cell's own `/dev/pts`, so that
//! the terminal has a name there, and passes our end back over a socket. Knows no policy.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use tokio::net::unix::pipe;

use super::Size;

/// Both ends of a new terminal: ours and the command's.
pub(super) fn open(size: Size) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty())?;
    let window = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&theirs, window)?;
    // A backspace takes a whole character back.
    let mut modes = tcgetattr(&theirs)?;
    modes.input_modes |= rustix::termios::InputModes::IUTF8;
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    Ok((ours, theirs))
}

/// Makes the terminal on this descriptor the one that controls the calling session.
pub(super) fn control(terminal: impl AsFd) -> io::Result<()> {
    Ok(rustix::process::ioctl_tiocsctty(terminal)?)
}

/// Our end, to read from and to write to.
pub(super) fn halves(ours: OwnedFd) -> io::Result<(pipe::Receiver, pipe::Sender)> {
    rustix::io::ioctl_fionbio(&ours, true)?;
    let write = ours.try_clone()?;
    Ok((pipe::Receiver::from_owned_fd_unchecked(ours)?, pipe::Sender::from_owned_fd_unchecked(write)?))
}

/// A socket for [`send`] and [`receive`]: ours and the helper's end.
#[cfg(target_os = "linux")]
pub(super) fn socket() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// Passes a descriptor on.
#[cfg(target_os = "linux")]
pub(super) fn send(socket: impl AsFd, fd: std::os::fd::BorrowedFd<'_>) -> io::Result<()> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd];
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sendmsg(socket, &[io::IoSlice::new(b"t")], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes a descriptor that was passed on already; does not wait.
#[cfg(target_os = "linux")]
pub(super) fn receive(socket: impl AsFd) -> io::Result<OwnedFd> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    recvmsg(socket, &mut [io::IoSliceMut::new(&mut byte)], &mut control, flags)?;
    let mut fds = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    fds.next().ok_or_else(|| io::Error::other("no terminal came"))
}
