#!/usr/bin/env bash
# Build the wheel, install it into an environment of its own, block torch and transformers, and run
# in an empty folder what someone does who only reads; then a page of the report, with that extra.
# Prints the size of the wheel, the seconds of each command, and one line when all of it works.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bare="$root/.cache/bare"
python="${PYTHON:-$root/.venv/bin/python}"
most=11000000
quiet=(--quiet --disable-pip-version-check -c "$root/constraints.txt")

rm -rf "$bare/dist"
"$python" -m build --wheel --no-isolation --outdir "$bare/dist" "$root" > /dev/null
wheel=$(ls "$bare"/dist/*.whl)
size=$(wc -c < "$wheel")
echo "$size bytes $(basename "$wheel")"
[ "$size" -le "$most" ] || { echo "the wheel must have at most $most bytes" >&2; exit 1; }

if [ ! -e "$bare/.ready" ] || [ "$root/constraints.txt" -nt "$bare/.ready" ] || [ "$root/pyproject.toml" -nt "$bare/.ready" ]; then
  rm -rf "$bare/venv"
  "$python" -m venv "$bare/venv"
  "$bare/venv/bin/python" -m pip install "${quiet[@]}" --upgrade pip
  "$bare/venv/bin/python" -m pip install "${quiet[@]}" "$wheel"
  touch "$bare/.ready"
else
  "$bare/venv/bin/python" -m pip install "${quiet[@]}" --no-deps --force-reinstall "$wheel"
fi

mkdir -p "$bare/blocked/torch" "$bare/blocked/transformers"
for name in torch transformers; do
  echo "raise ImportError('$name is blocked')" > "$bare/blocked/$name/__init__.py"
done
export PYTHONPATH="$bare/blocked" XDG_CACHE_HOME="$bare/results"
rm -rf "$bare/empty" "$bare/results" && mkdir "$bare/empty" && cd "$bare/empty"
installed() { (cd "$bare/venv" && find lib -path '*/collect/shipped/*' -type f -exec cksum {} + | sort); }
before=$(installed)

# Runs a command, says how long it took, and ends everything unless it prints what it must.
shows() {
  local expected=$1 begun=$SECONDS said
  shift
  said=$("$bare/venv/bin/thermoscope" "$@")
  grep -q -- "$expected" <<< "$said" || { echo "thermoscope $*: no '$expected' in: $said" >&2; exit 1; }
  echo "$((SECONDS - begun)) s  thermoscope $*"
}

"$bare/venv/bin/python" -c "import thermoscope, analysis; assert 'site-packages' in analysis.__file__, analysis.__file__"
echo "$(du -sm "$bare/venv" | cut -f1) MB with all that the wheel requires"
shows '^[0-9]* claims: ' claims
shows '^0 of [0-9]* claims differ' claims --check
shows '^Verdict: ' claim 7
shows 'gpt-neo-125m' sql 'SELECT model_id FROM model ORDER BY ALL LIMIT 9'
"$bare/venv/bin/thermoscope" sql 'SELECT 1' 2> noted > /dev/null
if grep 'left out' noted >&2; then exit 1; fi  # every unit that travels is whole
shows '^A_grand_unified ' collect prompts
shows 'measurements.duckdb' database --out measurements.duckdb
[ -s measurements.duckdb ]
status=0
"$bare/venv/bin/thermoscope" collect run nowhere --prompts A_grand_unified --out runs 2> said || status=$?
[ "$status" = 3 ] && grep -q 'thermoscope\[collect\]' said  # the extra is named where it is missing
"$bare/venv/bin/python" -m pip install "${quiet[@]}" "${wheel}[report]"
for page in index real; do
  shows "reports/paper/$page.html" report --page "$page"
  [ -s "reports/paper/$page.html" ]
done
[ "$before" = "$(installed)" ] || { echo "a command wrote among the installed packages" >&2; exit 1; }

# With torch, which the environment of all checks has: the wheel's own code and prompts measure.
"$python" -m pip install "${quiet[@]}" --no-deps --target "$bare/alone" --upgrade "$wheel"
PYTHONPATH="$bare/alone" "$python" -P "$root/tests/installed_collection.py"
echo "bare install: claims, queries, a database, pages and a measurement from the wheel alone"
