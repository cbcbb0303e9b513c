#!/bin/sh
# Installs tack, one binary, to ~/.local/bin or to $TACK_INSTALL_DIR; no root needed.
#   ./install.sh              in a checkout: builds it and installs what was built
#   curl … | sh               elsewhere: fetches the archive for this system from $TACK_RELEASE_URL,
#                             checks it against SHA256SUMS there; $TACK_VERSION picks one, else the newest
#   … | sh -s -- --uninstall  takes it away again (settings and sessions stay)
# The brace on the next line closes at the end of the file: of a script that was cut off nothing runs.
{
list_most=1 archive_most=256 # MB

say() { printf '%s\n' "$*"; }
fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

main() {
    set -eu
    work='' made=0 child='' version=''
    dir=${TACK_INSTALL_DIR:-${HOME:+$HOME/.local/bin}}
    [ -n "$dir" ] || fail "HOME is not set: set TACK_INSTALL_DIR to the folder to install to"
    case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
    dir=${dir%/}
    case ${1:-} in
    '') ;;
    --uninstall)
        uninstall
        return
        ;;
    *) fail "unknown option $1; the only one is --uninstall" ;;
    esac
    [ ! -d "$dir/tack" ] || fail "$dir/tack is a folder: move it away or set TACK_INSTALL_DIR"

    trap clean EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    if checkout; then
        build
    else
        fetch
    fi
    place
}

# Whether this script is a file in a checkout of tack, which is then in $here. Piped, $0 is the shell.
checkout() {
    [ -f "$0" ] && [ "${0##*/}" = install.sh ] || return 1
    here=$(cd "$(dirname "$0")" && pwd)
    grep -q '^name = "tack-agent"' "$here/Cargo.toml" 2>/dev/null
}

build() {
    has cargo || fail "cargo is not there: install Rust 1.89 or newer, then run this again"
    say "building tack (a few minutes the first time) …"
    cargo build --release --locked --bin tack --manifest-path "$here/Cargo.toml" --target-dir "$here/target"
    room
    cp "$here/target/release/tack" "$work/tack"
}

# Leaves the checked binary in $work.
fetch() {
    url=${TACK_RELEASE_URL:-}
    url=${url%/}
    case $url in
    https://?* | http://127.0.0.1[:/]* | http://localhost[:/]*) ;;
    http://?*) say "note: over http:// others on the way can change what arrives" ;;
    '') fail "set TACK_RELEASE_URL to the address of the release archives, or run ./install.sh in a checkout" ;;
    *) fail "TACK_RELEASE_URL has to start with https:// or http://" ;;
    esac
    wanted=${TACK_VERSION:-}
    wanted=${wanted#v}
    case $wanted in *[!0-9A-Za-z.+-]*) fail "TACK_VERSION is no version: $wanted" ;; esac
    targets
    room
    download SHA256SUMS "$list_most"
    choose
    say "fetching $archive …"
    download "$archive" "$archive_most"
    arrived=$(digest "$work/$archive")
    [ "$arrived" = "$sum" ] ||
        fail "$archive is not what SHA256SUMS lists (its SHA-256 differs); nothing was installed"
    unpack
}

# The names archives for this system may have, the better one first.
targets() {
    cpu=$(uname -m) kernel=$(uname -s)
    case $cpu in
    x86_64 | amd64) cpu=x86_64 ;;
    aarch64 | arm64) cpu=aarch64 ;;
    *) kernel="$kernel $cpu" ;;
    esac
    case $kernel in
    Linux) targets="$cpu-unknown-linux-musl $cpu-unknown-linux-gnu" ;;
    Darwin)
        # A translated shell on Apple silicon says x86_64.
        [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" != 1 ] || cpu=aarch64
        targets=$cpu-apple-darwin
        ;;
    *) fail "there are no archives for $kernel: get the source and run ./install.sh in its folder" ;;
    esac
}

# Makes the folder to install to and in it a private one to work in: a new binary has to be run before
# it takes the old one's place, which is then one rename.
room() {
    parent=$dir
    while [ ! -d "$parent" ]; do
        parent=$(dirname "$parent") made=$((made + 1))
    done
    mkdir -p "$dir" 2>/dev/null || fail "$dir cannot be made: set TACK_INSTALL_DIR to a folder of yours"
    work=$(mktemp -d "$dir/.tack.XXXXXX" 2>/dev/null) ||
        fail "$dir cannot be written: set TACK_INSTALL_DIR to a folder of yours"
}

# Whatever happened: nothing but the installed binary stays.
# shellcheck disable=SC2317 # the trap calls it
clean() {
    code=$?
    trap '' HUP INT TERM
    [ -z "$child" ] || kill "$child" 2>/dev/null || :
    [ -z "$work" ] || rm -rf "$work"
    parent=$dir
    while [ "$made" -gt 0 ]; do
        rmdir "$parent" 2>/dev/null || :
        parent=$(dirname "$parent") made=$((made - 1))
    done
    exit "$code"
}

# download NAME MEGABYTES: to $work. In the background, so that a signal need not wait for it.
download() {
    to=$work/$1 most=$2
    if has curl; then
        case $url in https:*) only='=https' ;; *) only='=http,https' ;; esac
        set -- curl -fsSL --proto "$only" --connect-timeout 20 --max-time 900 --speed-time 60 --speed-limit 100 \
            --retry 2 --retry-delay 1 -o "$to" "$url/$1"
    elif has wget; then
        # Not every wget knows a limit of time or tries, and what has no limit is given one from outside.
        if wget --version 2>/dev/null | grep -q GNU; then
            set -- wget -q -T 60 -t 3 --waitretry=1 -O "$to" "$url/$1"
        else
            set -- wget -q -O "$to" "$url/$1"
        fi
        ! has timeout || set -- timeout 900 "$@"
    else
        fail "neither curl nor wget is there: install one of them"
    fi
    (capped "$most" "$@") &
    child=$!
    wait "$child" || {
        child=''
        fail "${to##*/} could not be fetched from TACK_RELEASE_URL (or is larger than $most MB)"
    }
    child=''
}

# capped MEGABYTES COMMAND…: becomes the command, whose writing fails beyond that size. The unit is 512 bytes,
# in bash 1024; without XFSZ it fails rather than dumps core.
capped() {
    trap '' XFSZ 2>/dev/null || :
    ulimit -f "$(($1 * 2048))" 2>/dev/null || :
    shift
    exec "$@"
}

# The list decides: sets $archive, $version and $sum. Lines that are none of ours mean nothing.
choose() {
    for target in $targets; do
        found=$(LC_ALL=C awk -v wanted="$wanted" -v tail="-$target.tar.gz" '
            { sub(/\r$/, ""); name = $2; sub(/^\*/, "", name) }
            NF != 2 || length($1) != 64 || $1 ~ /[^0-9a-fA-F]/ { next }
            substr(name, 1, 5) != "tack-" || length(name) <= 5 + length(tail) { next }
            substr(name, length(name) - length(tail) + 1) != tail { next }
            { version = substr(name, 6, length(name) - 5 - length(tail)) }
            wanted == "" ? version ~ /^[0-9]+\.[0-9]+\.[0-9]+$/ : version == wanted { print version, tolower($1) }
            ' "$work/SHA256SUMS" | sort -u | sort -t. -k1,1n -k2,2n -k3,3n)
        [ -z "$found" ] || break
    done
    [ -n "$found" ] || fail "SHA256SUMS lists no archive of tack ${wanted:+$wanted }for $cpu $kernel"
    newest=$(say "$found" | tail -n 1)
    version=${newest% *} sum=${newest#* }
    [ "$(say "$found" | grep -c "^$version ")" = 1 ] || fail "SHA256SUMS lists two sums for tack $version"
    archive=tack-$version-$target.tar.gz
}

digest() {
    if has sha256sum; then
        found=$(sha256sum <"$1")
    elif has shasum; then
        found=$(shasum -a 256 <"$1")
    elif has openssl; then
        found=$(openssl dgst -sha256 -r <"$1")
    else
        fail "nothing here can check the archive: install sha256sum, shasum or openssl"
    fi
    say "${found%% *}"
}

# Only the names that belong there, and the binary by its contents: no link or device is ever made.
unpack() {
    (capped "$archive_most" gzip -dc) <"$work/$archive" >"$work/tar" 2>/dev/null ||
        fail "$archive cannot be unpacked (or is larger than $archive_most MB)"
    names=$(tar -tf "$work/tar" 2>/dev/null | head -n 9) || names=
    [ "$(printf '%s\n' "$names" | sort | tr '\n' ' ')" = 'LICENSE README.md tack ' ] ||
        fail "$archive holds other files than LICENSE, README.md and tack; nothing was installed"
    tar -xOf "$work/tar" tack >"$work/tack" 2>/dev/null || fail "$archive cannot be unpacked"
}

# Runs the new binary, then puts it in place of the old one in one step: a running tack is not disturbed.
place() {
    chmod 755 "$work/tack"
    now=$("$work/tack" --version </dev/null 2>/dev/null) || now=
    case $now in
    "tack $version"*) ;;
    *) fail "the new binary does not run here; nothing was installed" ;;
    esac
    verb=installed
    [ ! -e "$dir/tack" ] || verb=replaced
    mv -f "$work/tack" "$dir/tack"
    made=0
    say "$verb $dir/tack ($now)"
    first=$(command -v tack) || first=
    case :$PATH: in
    *":$dir:"*) [ "$first" = "$dir/tack" ] || say "another tack comes first on your PATH: $first" ;;
    *) say "add it to your PATH: export PATH=\"$dir:\$PATH\"" ;;
    esac
}

uninstall() {
    if [ -e "$dir/tack" ] || [ -L "$dir/tack" ]; then
        rm -f "$dir/tack" || fail "$dir/tack cannot be removed"
        say "removed $dir/tack"
    else
        say "nothing to remove: there is no $dir/tack"
    fi
    home=${HOME:-}
    for kept in "${TACK_HOME:-}" "${XDG_CONFIG_HOME:-$home/.config}/tack" "${XDG_DATA_HOME:-$home/.local/share}/tack" \
        "${XDG_STATE_HOME:-$home/.local/state}/tack" "${XDG_CACHE_HOME:-$home/.cache}/tack" \
        "$home/Library/Application Support/tack" "$home/Library/Caches/tack"; do
        [ -z "$kept" ] || [ ! -d "$kept" ] || say "settings, sessions or caches stay in $kept"
    done
}

main "$@"
exit
}
