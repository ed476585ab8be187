#!/bin/sh
# Makes the .deb and the .rpm in target/packages. Same sources and tools, same bytes: all dates are
# those of the last commit, unless SOURCE_DATE_EPOCH says otherwise.
set -eu
cd "$(dirname "$0")/.."

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
DAY=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)
STAGE=target/package
OUT=target/packages
PATH=$PWD/target/tools/bin:$PATH

cargo build --quiet --release -p scx_steer
rm -rf "$STAGE" "$OUT"
mkdir -p "$STAGE" "$OUT"
version=$(cargo pkgid -p scx_steer | sed 's/.*[#@]//')

target/release/scx_steer generate --date "$DAY" "$STAGE"
# The reference of policy files is one text: a page in docs/, and this man page.
{
	printf '# NAME\n\nscx_steer-policy - files that say how scx_steer treats cgroups\n\n# DESCRIPTION\n'
	sed -e 1d -e 's/^##/#/' docs/policy.md
} | lowdown -s -tman --parse-no-intraemph -m title:scx_steer-policy -m section:5 -m date:"$DAY" \
	-m source:"scx_steer $version" -m volume:scx_steer |
	sed 's/\\fC/\\fB/g' >"$STAGE/man/scx_steer-policy.5"
# the completion of bash is found by the program's name
mv "$STAGE/completions/scx_steer.bash" "$STAGE/completions/scx_steer"
gzip -9n "$STAGE"/man/*
gzip -9nc CHANGELOG.md >"$STAGE/NEWS.md.gz"
cat >"$STAGE/changelog" <<END
scx-steer ($version-1) unstable; urgency=medium

  * Version $version. NEWS.md.gz in this folder has the changes.

 -- The authors of scx_steer <scx_steer@lists.invalid>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END

cargo cyclonedx --quiet --format json --override-filename sbom.cdx \
	--manifest-path scheduler/Cargo.toml
mv scheduler/sbom.cdx.json "$STAGE/"
find . -name sbom.cdx.json -not -path './target/*' -delete

# cargo-deb strips the program by itself
strip -o "$STAGE/scx_steer" target/release/scx_steer
cargo deb --quiet --no-build -p scx_steer --output "$OUT/"
cargo generate-rpm -p scheduler --payload-compress xz --output "$OUT/"
(cd "$OUT" && sha256sum ./*.deb ./*.rpm)
