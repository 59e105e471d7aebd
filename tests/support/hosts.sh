# shellcheck shell=bash
# Two hosts, a and b, that are network namespaces of this machine, joined by a cable of their own: 10.77.0.1 and 10.77.0.2.
# Sourced by the scripts beside it. Needs root. HOSTS_NUMBER tells these hosts from those of other tests.
host_a=ls${HOSTS_NUMBER:=$$}-a
host_b=ls$HOSTS_NUMBER-b

make_hosts() {
  ip netns add "$host_a"
  ip netns add "$host_b"
  ip link add eth0 netns "$host_a" type veth peer name eth0 netns "$host_b"
  local host name number
  for host in "$host_a 1" "$host_b 2"; do
    read -r name number <<<"$host"
    ip -n "$name" address add "10.77.0.$number/24" dev eth0
    ip -n "$name" link set eth0 up
    ip -n "$name" link set lo up
  done
}

remove_hosts() {
  ip netns del "$host_a" 2>/dev/null || true
  ip netns del "$host_b" 2>/dev/null || true
}

# on_host NAME COMMAND [ARGUMENT]...: becomes a command there, under that host's name.
on_host() {
  # shellcheck disable=SC2016  # the inner shell expands it
  exec ip netns exec "$1" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$@"
}
