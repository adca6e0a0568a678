# shellcheck shell=bash
# Whether the proof can be had here: asked before anything is changed. What can't be had is no failure
# of Hopwatch, so it ends with 77 and the reason.
#
# Expects `work` (a folder), `programs`, and `set -e`. Sets `release` and `mirror`, Debian's.
# shellcheck disable=SC2034,SC2154 # these come from outside, or go there

cannot() {
    echo "skipped: $*"
    exit 77
}

# Runs a command unheard, and for a short while.
can() {
    timeout 60 "$@" >/dev/null 2>&1
}

# Prints what runs the machine: `debian bookworm`.
system() {
    (
        # shellcheck disable=SC1091 # of the machine
        source /etc/os-release
        echo "${ID-} ${VERSION_CODENAME-}"
    )
}

# The release that base images are made of: the one that the official images are named after. Programs
# of this machine get their own: on an older C library they wouldn't start.
choose_release() {
    local id codename
    release=bookworm
    [[ -n $programs ]] || return 0
    read -r id codename < <(system)
    [[ $id == debian && -n $codename ]] ||
        cannot "programs of this machine (${id:-unknown} ${codename-}) can't be put on Debian: --from-source builds them there"
    release=$codename
}

# Usage: check_c_library TREE: whether the programs find all of their C library in the base.
check_c_library() {
    local needed has
    needed=$(grep -aohE 'GLIBC_[0-9]+\.[0-9]+' "$programs/hopwatch" "$programs/hopwatch-ros" |
        sort -uV | tail -n 1)
    needed=${needed#GLIBC_}
    has=$(chroot "$1" ldd --version | sed -n '1s/.* //p')
    [[ $(printf '%s\n' "$needed" "$has" | sort -V | tail -n 1) == "$has" ]] ||
        cannot "the programs in $programs need glibc $needed, and Debian $release has $has: --from-source builds them there"
}

# What an engine of one's own needs of the kernel. Namespaces that end with the probe take the changes.
probe_kernel() {
    local forward=/proc/sys/net/ipv4/ip_forward
    grep -q ' /sys/fs/cgroup' /proc/self/mounts || cannot 'there are no control groups'
    can unshare --mount mount -t tmpfs none /tmp || cannot 'nothing may be mounted here'
    can unshare --net true || cannot 'no network namespace may be made here'
    # Where they are missing, they come with the engine.
    ! command -v ip >/dev/null || can unshare --net ip link add probe type bridge ||
        cannot 'no network bridge may be made here'
    ! command -v iptables >/dev/null ||
        can unshare --net iptables -t nat -A POSTROUTING -m addrtype ! --dst-type LOCAL -j MASQUERADE ||
        cannot 'iptables can do no NAT here'
    # The value that it has already.
    can bash -c "cat $forward | { read -r value; echo \$value >$forward; }" ||
        cannot "$forward can't be written"
}

# What debootstrap needs, in the work folder.
probe_folder() {
    local probe=$work/probe
    can chroot / true || cannot 'chroot is forbidden here'
    mkdir "$probe"
    if ! can mknod "$probe/null" c 1 3 || ! (echo >"$probe/null") 2>/dev/null; then
        cannot "device files can't be made or used in $work: --work takes another place"
    fi
    cp "$(type -P true)" "$probe/true"
    can "$probe/true" || cannot "programs can't be run in $work: --work takes another place"
    rm -r "$probe"
}

# The places that apt's sources name, each once.
apt_places() {
    local place list
    # shellcheck disable=SC2016 # apt's words
    apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' 'Created-By: Packages' |
        sed -n 's/ main$//p' | awk '!seen[$0]++' | while read -r place; do
        case $place in
            http:* | https:* | file:*) echo "$place" ;;
            mirror+file:*)
                # A list of mirrors, as in images for clouds. Its path may begin with three slashes.
                list=/${place#mirror+file:}
                sed -n 's/^\([a-z]*:[^[:space:]]*\).*/\1/p' "${list%/}" | head -n 1
                ;;
        esac
    done
}

# Finds the place where this machine gets Debian from, and whether it answers.
find_mirror() {
    local address file=$work/InRelease
    [[ -x /usr/lib/apt/apt-helper ]] || cannot "there is no apt, whose sources say where to get Debian"
    mirror=
    while read -r address; do
        rm -f "$file"
        can /usr/lib/apt/apt-helper -o Acquire::Retries=1 -o Acquire::http::Timeout=15 \
            -o Acquire::https::Timeout=15 download-file "${address%/}/dists/$release/InRelease" "$file" || continue
        if grep -q '^Origin: Debian$' "$file"; then
            mirror=${address%/}
            break
        fi
    done < <(apt_places)
    rm -f "$file"
    [[ -n $mirror ]] || cannot "none of apt's sources has Debian $release, or none answers"
}
