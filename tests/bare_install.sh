#!/usr/bin/env bash
# Install without extras into an environment of its own, block torch and transformers, and
# judge the claims: what someone gets who only reads. Prints one line when it works.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bare="$root/.cache/bare"
if [ ! -e "$bare/.ready" ] || [ "$root/constraints.txt" -nt "$bare/.ready" ] || [ "$root/pyproject.toml" -nt "$bare/.ready" ]; then
  rm -rf "$bare"
  "$root/.venv/bin/python" -m venv "$bare"
  "$bare/bin/python" -m pip install --quiet --disable-pip-version-check -c "$root/constraints.txt" --upgrade pip
  "$bare/bin/python" -m pip install --quiet --disable-pip-version-check -c "$root/constraints.txt" \
    --build-constraint "$root/constraints.txt" "$root"
  touch "$bare/.ready"
else
  "$bare/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall \
    --build-constraint "$root/constraints.txt" "$root"
fi
mkdir -p "$bare/blocked/torch" "$bare/blocked/transformers"
for name in torch transformers; do
  echo "raise ImportError('$name is blocked')" > "$bare/blocked/$name/__init__.py"
done
cd "$root"  # -P keeps the checkout itself off the path, so the installed package is what runs
PYTHONPATH="$bare/blocked" "$bare/bin/python" -P -c \
  "import analysis; assert 'site-packages' in analysis.__file__, analysis.__file__"
PYTHONPATH="$bare/blocked" "$bare/bin/python" -P -m analysis claims --check
echo "bare install: the claims are judged without torch and agree with reports/claims.csv"
