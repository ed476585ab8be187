#!/bin/sh
# Checks the packages in target/packages: licences of all that is linked in, lint, the same bytes from
# a second build, and a clean Debian 13 root where they are installed and run. Needs root.
set -eu
cd "$(dirname "$0")/.."
OUT=target/packages
PATH=$PWD/target/tools/bin:$PATH

echo "== licences and sources"
cargo deny check licenses bans sources

echo "== lint"
lintian --fail-on error,warning --tag-display-limit 0 "$OUT"/*.deb
rpmlint --config package/rpmlint.toml "$OUT"/*.rpm
rpm -qp --requires "$OUT"/*.rpm | grep -q hwloc || { echo "the .rpm requires no hwloc" >&2; exit 1; }

echo "== a second build"
first=$(cd "$OUT" && sha256sum ./*.deb ./*.rpm)
cargo clean --quiet --release -p scx_steer -p steer-bpf -p steer-policy -p steer-topology -p steer-nic
package/build.sh >/dev/null
second=$(cd "$OUT" && sha256sum ./*.deb ./*.rpm)
if [ "$first" != "$second" ]; then
	printf 'two builds differ:\n%s\n%s\n' "$first" "$second" >&2
	exit 1
fi
echo "the same bytes:"
echo "$second"

package/root.sh
