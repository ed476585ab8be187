#!/bin/sh
# Renders the chart and the Kustomize base and validates both against Kubernetes' schemas, without a
# cluster. Needs python3-venv; installs its Python packages into target/tools.
set -eu
cd "$(dirname "$0")/../.."
venv=target/tools/kubernetes
if [ ! -e "$venv/installed" ]; then
	python3 -m venv "$venv"
	"$venv/bin/pip" install -q helm-python-sdk==0.2.2 kubernetes-validate==1.37.0 pyyaml==6.0.4
	touch "$venv/installed"
fi
exec "$venv/bin/python" deploy/kubernetes/check.py
