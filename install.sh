#!/bin/sh
# Builds tack from this checkout and installs the one binary; no root needed.
#   ./install.sh              install to ~/.local/bin, or to $TACK_INSTALL_DIR
#   ./install.sh --uninstall  take it away again (settings and sessions stay)
set -eu

say() { printf '%s\n' "$*"; }
fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

main() {
    dir=${TACK_INSTALL_DIR:-${HOME:?HOME is not set; set TACK_INSTALL_DIR}/.local/bin}
    case ${1:-} in
    '') ;;
    --uninstall)
        if [ -e "$dir/tack" ]; then
            rm -f "$dir/tack"
            say "removed $dir/tack"
        else
            say "nothing to remove: there is no $dir/tack"
        fi
        return
        ;;
    *) fail "unknown option $1; the only one is --uninstall" ;;
    esac

    here=$(cd "$(dirname "$0")" && pwd)
    [ -f "$here/Cargo.toml" ] || fail "no Cargo.toml beside this script: run it from a checkout of tack"
    command -v cargo >/dev/null 2>&1 || fail "cargo is not there: install Rust 1.89 or newer, then run this again"

    say "building tack (a few minutes the first time) …"
    cargo build --release --locked --bin tack --manifest-path "$here/Cargo.toml" --target-dir "$here/target"
    built=$here/target/release/tack
    mkdir -p "$dir"
    # Beside the old one first, then in its place in one step: a running tack is not disturbed.
    new=$dir/.tack.$$
    trap 'rm -f "$new"' EXIT
    cp "$built" "$new"
    chmod 755 "$new"
    mv -f "$new" "$dir/tack"
    trap - EXIT

    say "installed $dir/tack ($("$dir/tack" --version))"
    case :$PATH: in
    *":$dir:"*) ;;
    *) say "add it to your PATH: export PATH=\"$dir:\$PATH\"" ;;
    esac
}

main "$@"
