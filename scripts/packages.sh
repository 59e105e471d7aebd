# System packages for scripts/setup: which of scripts/packages.txt are missing, and how they get here. Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2154  # root and logs are set in scripts/lib.sh, torch_source in scripts/wheels.sh

os_release=${LOCKSTEP_OS_RELEASE:-/etc/os-release}

package_rows() { sed '/^#/d; /^[[:space:]]*$/d' "$root/scripts/packages.txt"; }

known_groups() { package_rows | awk '!seen[$1]++ { print $1 } END { print "all" }' | paste -sd ' '; }

# Sets `manager` to what installs packages here (apt, dnf, zypper, spack or unknown) and `distribution` to its name.
find_manager() {
  local ids=' '
  manager=unknown distribution='this system'
  if [[ -r $os_release ]]; then
    # shellcheck source=/dev/null
    ids=$(source "$os_release" && printf ' %s %s ' "${ID:-}" "${ID_LIKE:-}")
    # shellcheck source=/dev/null
    distribution=$(source "$os_release" && printf '%s' "${PRETTY_NAME:-${ID:-$distribution}}")
  fi
  case $ids in
    *' debian '* | *' ubuntu '*) manager=apt ;;
    *' fedora '* | *' rhel '* | *' centos '*) manager=dnf ;;
    *suse*) manager=zypper ;;
    *) if command -v spack >/dev/null; then manager=spack; fi ;;
  esac
}

# find_missing GROUP...: fills `missing` with the rows of these groups that this machine lacks. Asks dpkg once, and no
# network.
find_missing() {
  local rows row names installed apt check
  missing=()
  mapfile -t rows < <(package_rows |
    awk -v groups=" $* " '(index(groups, " all ") || index(groups, " " $1 " ")) && !seen[$2]++')
  mapfile -t names < <(printf '%s\n' "${rows[@]}" | awk '{ print $2 }')
  # shellcheck disable=SC2016  # dpkg-query expands these, not the shell
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${names[@]}" 2>/dev/null) || true
  for row in "${rows[@]}"; do
    read -r _ apt _ _ _ check _ <<<"$row"
    if grep -qxF -- "installed $apt" <<<"$installed" || probe "$check"; then continue; fi
    if [[ $apt == chromium ]] && is_ubuntu; then continue; fi
    missing+=("$row")
  done
}

# Its package chromium is a snap, which has no place in a container or a chroot. Tests in a browser are left out there.
is_ubuntu() { grep -qsx 'ID="\?ubuntu"\?' "$os_release"; }

# probe KIND:NAME: whether a command, header or Python module is there, wherever it came from.
probe() {
  local name=${1#*:} folder
  case $1 in
    cmd:*) command -v "$name" >/dev/null ;;
    mod:*) python_with "$name" >/dev/null ;;
    hdr:*)
      while IFS= read -r folder; do
        if [[ -e $folder/$name ]]; then return; fi
      done < <(header_folders)
      return 1
      ;;
    *) return 1 ;;
  esac
}

# The system's folders, then those that Spack and environment modules name.
header_folders() {
  printf '%s\n' /usr/include /usr/local/include
  tr ':' '\n' <<<"${CPATH:-}:${CPLUS_INCLUDE_PATH:-}" | sed '/^$/d'
  tr ':' '\n' <<<"${CMAKE_PREFIX_PATH:-}" | sed '/^$/d; s,$,/include,'
}

# Prints the first python3 that has a module: the one on the PATH, else the system's.
python_with() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c "import $1" 2>/dev/null; then
      say "$python"
      return
    fi
  done
  return 1
}

# The column of a manager's names; where the manager is unknown, Debian's are given.
column_of() { case $1 in dnf) say 3 ;; zypper) say 4 ;; spack) say 5 ;; *) say 2 ;; esac }

# Prints the names of the missing packages by a manager, each once.
missing_names() {
  printf '%s\n' "${missing[@]}" | awk -v column="$(column_of "$1")" '$column != "-" && !seen[$column]++ { print $column }'
}

# Prints Debian's names of the missing packages that a manager does not have.
missing_without_name() {
  printf '%s\n' "${missing[@]}" | awk -v column="$(column_of "$1")" '$column == "-" { print $2 }' | paste -sd ' '
}

# Prints what is missing, and why it is needed.
explain_missing() {
  printf '%s\n' "${missing[@]}" | awk '{ name = $2; $1 = $2 = $3 = $4 = $5 = $6 = ""; sub(/^ +/, ""); printf "  %-20s %s\n", name, $0 }'
}

# Whether we are root or may become it. Asks for a password only where somebody can type one.
have_root() {
  ((EUID == 0)) && return
  command -v sudo >/dev/null || return 1
  sudo -n true 2>/dev/null && return
  [[ -t 0 && -t 2 ]] && sudo -v
}

as_root() { if ((EUID == 0)); then "$@"; else sudo "$@"; fi; }

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -o DPkg::Lock::Timeout=300 "$@"; }

# A source that does not answer is no reason to stop: it may be one that we do not need. `install` decides.
update_and_install() {
  apt_get update || true
  apt_get install -y --no-install-recommends "$@"
}

# Installs the missing packages through apt.
install_packages() {
  local names log=$logs/apt.log
  mapfile -t names < <(missing_names apt)
  step "installing with apt: ${#names[@]} packages and what they need" "$log" update_and_install "${names[@]}" || explain_apt_failure "$log"
}

explain_apt_failure() {
  local log=$1 again='run this again'
  if grep -qE 'No space left|enough free space' "$log"; then
    die_with_log "the disk is full" "$log" "free some space, then $again"
  elif grep -q 'dpkg was interrupted' "$log"; then
    die_with_log "an earlier installation was interrupted" "$log" "run 'dpkg --configure -a' as root, then $again"
  elif grep -qE 'Could not get lock|Unable to acquire' "$log"; then
    die_with_log "another program is installing packages" "$log" "wait until it is done, then $again"
  elif grep -qE 'Temporary failure resolving|Could not resolve|Could not connect|Connection (failed|timed out|refused)|Unable to connect|Network is unreachable' "$log"; then
    die "no network: apt could not reach its package sources (see $(short_path "$log"))" \
      "connect the machine, or set apt's proxy (Acquire::http::Proxy), then $again"
  elif grep -qE 'Unable to locate package|no installation candidate' "$log"; then
    die_with_log "$distribution does not offer all the packages" "$log" \
      "on Ubuntu enable 'universe' (add-apt-repository universe); elsewhere use Debian 12 or newer; then $again"
  fi
  die_with_log "apt failed" "$log" "mend what it says, then $again"
}

# Ends the script where we cannot install: names the command that an administrator must run.
hand_over_to_administrator() {
  local names unnamed next=() ask='ask an administrator to run:'
  if ((EUID == 0)); then ask='run:'; fi
  mapfile -t names < <(missing_names "$manager")
  unnamed=$(missing_without_name "$manager")
  case $manager in
    apt) next+=("$ask apt-get update && apt-get install -y --no-install-recommends ${names[*]}") ;;
    dnf) next+=("$ask dnf install ${names[*]}   (on RHEL and its kin enable EPEL and CRB first)") ;;
    zypper) next+=("$ask zypper install ${names[*]}") ;;
    spack) ;;
    *) next+=("install the packages listed above (Debian's names) by your system's own means") ;;
  esac
  if command -v spack >/dev/null; then
    mapfile -t names < <(missing_names spack)
    next+=("${next[0]:+or, with no administrator, }run: spack install ${names[*]} && spack load ${names[*]}")
  fi
  if [[ -n $unnamed ]]; then next+=("get from elsewhere: $unnamed"); fi
  if [[ $torch_source == missing ]]; then next+=("then run this again, which also fetches libtorch: that takes pip"); else next+=("then run this again"); fi
  die "$(count_missing), and this script $(why_not)" "${next[@]}"
}

count_missing() { if ((${#missing[@]} == 1)); then say "1 system package is missing"; else say "${#missing[@]} system packages are missing"; fi; }

why_not() {
  case $manager in
    apt) say "may not install any: it is run neither as root nor with sudo" ;;
    unknown) say "does not know how $distribution installs packages" ;;
    *) say "installs packages through apt only" ;;
  esac
}
