#!/bin/sh
# A root file system of another Debian release, with the Slurm and the Apptainer of that release: built once, kept
# outside the checkout, and entered so that nothing that runs in it changes it, the checkout, or the machine.
set -eu

UNAVAILABLE=69 # exit status: it cannot be had here, which is not the same as a test that fails in it

usage() {
    cat <<'END'
Usage: rootfs.sh build SUITE             build it where it is not there yet
       rootfs.sh run SUITE COMMAND...    run a command in it, at the top of a copy of the checkout
       rootfs.sh clear [SUITE]           remove what was built, of one suite or of all

SUITE is a release of Debian, such as trixie or sid. It is kept in $XDG_CACHE_HOME/tierwise/rootfs, by default
~/.cache/tierwise/rootfs. What a command writes is gone when it ends, but for /venv.
Exit status 69: the root file system cannot be had here, and one line says why.
END
}

self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
checkout=$(dirname "$(dirname "$self")")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tierwise/rootfs

say() { printf '%s\n' "rootfs: $*" >&2; }

unavailable() {
    say "$suite cannot be built or entered here: $*"
    exit "$UNAVAILABLE"
}

# packages SUITE: what the tests need in it. apptainer is in Debian's unstable release only.
packages() {
    echo slurmctld slurmd slurm-client slurmdbd munge slurm-wlm-basic-plugins slurm-wlm-basic-plugins-dev \
        slurm-wlm-mysql-plugin libslurm-dev mariadb-server gcc libc6-dev liblua5.3-0 lua5.3 \
        python3 python3-venv ca-certificates iproute2 procps man-db
    [ "$1" != sid ] || echo apptainer
}

digest() { cksum | tr -d ' '; }

root_of() { printf '%s/%s-%s\n' "$cache" "$1" "$(packages "$1" | digest)"; }

# Debian's mirror as the machine's own apt knows it; nothing where it is no Debian: debootstrap has a default.
mirror() {
    id=$(. /etc/os-release && echo "${ID:-}:${VERSION_CODENAME:-}")
    [ "${id%%:*}" = debian ] || return 0
    # shellcheck disable=SC2016 - apt's own variables
    apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        sed -n "s/^${id#*:} main //p" | head -n 1
}

check_name() {
    case $suite in '' | *[!a-z]*) say "'$suite' is no release of Debian such as trixie" && exit 2 ;; esac
}

check() {
    check_name
    [ "$(id -u)" = 0 ] || unavailable "it needs root"
    for tool in debootstrap unshare pivot_root flock tar; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || unavailable "there is no $tool"
    done
    grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || unavailable "the kernel has no overlayfs"
    unshare --mount true 2>/dev/null || unavailable "no mount namespace can be made"
}

# build: sets $root. One builder at a time; a name is there only once all that belongs to it is.
build() {
    root=$(root_of "$suite")
    [ -d "$root" ] && return 0
    mkdir -p "$cache"
    exec 9>"$cache/$suite.lock"
    flock 9
    if ! [ -d "$root" ]; then
        remove ".$suite."
        say "building $suite in $root (once; a few minutes)"
        partial=$(mktemp -d "$cache/.$suite.XXXXXX")
        chmod 755 "$partial"
        log=$cache/$suite.log
        make_root "$partial" >"$log" 2>&1 9>&- || {
            sed -n '/^[EW]: /p' "$log" | tail -n 3 >&2
            rm -rf --one-file-system "$partial"
            unavailable "see $log"
        }
        mv "$partial" "$root"
    fi
    exec 9>&-
}

make_root() {
    # shellcheck disable=SC2046 - no argument where no mirror is known
    debootstrap --variant=minbase "$suite" "$1" $(mirror) || return 1
    # How the machine reaches the mirror: a proxy, a client certificate.
    cp -a /etc/apt/apt.conf.d/. "$1/etc/apt/apt.conf.d/" || return 1
    printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d" && chmod 755 "$1/usr/sbin/policy-rc.d" || return 1
    # shellcheck disable=SC2046 - one argument a package
    stay=yes entered "$1" env DEBIAN_FRONTEND=noninteractive sh -ec '
        apt-get -qq update
        apt-get -qq install --no-install-recommends -y "$@"
        apt-get clean' sh $(packages "$suite")
}

# environment: sets $venv, the virtual environment for that suite's Python, made anew when pyproject.toml changes.
environment() {
    venv=$root.venv-$(digest <"$checkout/pyproject.toml")
    exec 9>"$cache/$suite.lock"
    flock 9
    if ! [ -d "$venv" ]; then
        remove_unused "$root.venv-"
        say "setting up Python in $suite (once; a minute or two)"
        # In its final place only once it is complete; inside it is called /venv all the time.
        partial=$(mktemp -d "$cache/.$suite.XXXXXX")
        chmod 755 "$partial"
        log=$cache/$suite.venv.log
        venv=$partial entered "$root" sh -ec '
            python3 -m venv /venv
            /venv/bin/python -m pip install --disable-pip-version-check --editable ".[dev]"' >"$log" 2>&1 9>&- || {
            sed -n '/^ERROR: /p' "$log" | tail -n 3 >&2
            rm -rf --one-file-system "$partial"
            unavailable "the packages for its Python could not be installed, see $log"
        }
        mv "$partial" "$venv"
    fi
    # Held until the command has ended: in use.
    exec 8<"$venv"
    flock --shared 8
    exec 9>&-
}

# remove_unused PREFIX: environments that no command is using.
remove_unused() {
    for found in "$1"*; do
        [ ! -d "$found" ] || ! flock --exclusive --nonblock "$found" true || rm -rf --one-file-system "$found"
    done
}

# remove PREFIX: what of ours begins so. Nothing is ever mounted there but in namespaces that end with their command.
remove() {
    for found in "$cache/$1"*; do
        [ -e "$found" ] && rm -rf --one-file-system "$found"
    done
    return 0
}

# entered ROOT COMMAND...: run it in namespaces of its own; what it leaves running ends with it.
entered() {
    mkdir -p "$cache/mnt"
    venv=${venv:-} stay=${stay:-} checkout=$checkout cache=$cache \
        unshare --mount --pid --fork --kill-child --propagation private sh "$self" inside "$@"
}

# inside ROOT COMMAND...: the second half of `entered`.
inside() {
    lower=$1 mnt=$cache/mnt
    shift
    mount -t tmpfs -o mode=755 tierwise "$mnt"
    mkdir "$mnt/root" "$mnt/upper" "$mnt/work"
    new=$mnt/root
    if [ "$stay" = yes ]; then
        mount --bind "$lower" "$new"
    else
        mount -t overlay -o "lowerdir=$lower,upperdir=$mnt/upper,workdir=$mnt/work" tierwise "$new"
    fi
    mount -t proc proc "$new/proc"
    mount --rbind /sys "$new/sys"
    mount --rbind /dev "$new/dev"
    mount -t tmpfs -o mode=1777 tierwise "$new/tmp"
    mount -t tmpfs -o mode=755 tierwise "$new/run"
    mkdir -m 1777 "$new/run/lock"
    for file in /etc/hosts /etc/resolv.conf /etc/hostname; do
        [ ! -e "$file" ] || cp --remove-destination -L "$file" "$new$file"
    done
    if [ "$stay" != yes ]; then
        bring_pip "$new"
        mkdir "$new/checkout"
        tar -C "$checkout" --exclude-vcs --exclude='./.venv*' --exclude=./build --exclude=./dist \
            --exclude=./tierwise-out --exclude='.*_cache' --exclude=.hypothesis --exclude=__pycache__ \
            --exclude='*.egg-info' -cf - . |
            tar -C "$new/checkout" --no-same-owner -xf -
    fi
    if [ -n "$venv" ]; then
        mkdir "$new/venv"
        mount --bind "$venv" "$new/venv"
    fi
    # A plain chroot would keep user namespaces, and with them Apptainer, from working.
    mkdir -p "$new/mnt/old"
    cd "$new"
    pivot_root . mnt/old
    umount -l /mnt/old
    rmdir /mnt/old
    cd /checkout 2>/dev/null || cd /
    unset TMPDIR VIRTUAL_ENV PYTHONPATH PYTHONHOME stay cache checkout venv
    export HOME=/root LANG=C.UTF-8 XDG_CACHE_HOME=/venv/.cache
    export PATH=/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    # Not by exec: the first process of the namespace has to collect orphans that end, as a shell does.
    "$@" && exit 0 || exit $?
}

# bring_pip ROOT: pip's configuration, the certificates, and the folders on this machine that the former names.
bring_pip() {
    for place in /etc/ssl/certs /etc/pip.conf /etc/xdg/pip "$HOME/.config/pip" "$HOME/.pip"; do
        [ ! -e "$place" ] || bring "$1" "$place" "$(printf '%s' "$place" | sed "s,^$HOME/,/root/,")"
    done
    {
        env | grep -E '^(PIP_|SSL_CERT_|REQUESTS_CA_BUNDLE)' || true
        cat /etc/pip.conf /etc/xdg/pip/pip.conf "$HOME/.config/pip/pip.conf" 2>/dev/null || true
    } | tr ' =' '\n\n' | sed -n 's|^\(file://\)\{0,1\}\(/..*\)|\2|p' | sort -u | while read -r named; do
        # An index's pages point to what lies beside them.
        beside=$(dirname "$named")
        case $beside in / | /etc | /usr | /var | /tmp) beside=$named ;; esac
        [ ! -e "$beside" ] || [ -n "$(ls -A "$1$beside" 2>/dev/null)" ] || bring "$1" "$beside" "$beside"
    done
}

# bring ROOT FROM TO: show a file or folder of this machine in the root, to read only.
bring() {
    mkdir -p "$(dirname "$1$3")"
    if [ -d "$2" ]; then mkdir -p "$1$3"; else rm -f "$1$3" && : >"$1$3"; fi
    mount --bind "$2" "$1$3"
    mount -o remount,bind,ro "$1$3"
}

main() {
    command=${1:-help}
    [ $# -eq 0 ] || shift
    case $command in
    inside) inside "$@" ;;
    build | run)
        suite=${1:-}
        [ $# -eq 0 ] || shift
        check
        build
        environment
        [ "$command" = build ] || entered "$root" "$@"
        ;;
    clear)
        for suite in ${1:-$(cd "$cache" 2>/dev/null && ls -A | sed -n 's/^\.\{0,1\}\([a-z]*\)[-.].*/\1/p' | sort -u)}; do
            check_name
            for found in "$suite-" "$suite." ".$suite."; do
                remove "$found"
            done
        done
        ;;
    help | -h | --help) usage ;;
    *)
        say "there is no command '$command'"
        usage >&2
        exit 2
        ;;
    esac
}

# Read to its end before anything is done: an edit meanwhile must not change what a run of minutes does next.
main "$@"; exit
