#!/usr/bin/env bash
# Run the long proofs, one after the other, and keep what they say in .cache/proof under a name
# with the date and the commit's hash. ONLY, a regular expression, chooses among them; N is the
# number of fuzzed inputs.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${PYTHON:-.venv/bin/python}
commit=$(git describe --always --abbrev=7 --dirty)
kept=.cache/proof/proof_$(date -u +%F)_$commit.txt
said=.cache/proof/said_$$.txt
mkdir -p .cache/proof

proofs=(
  "tests.fuzz --n ${N:-20000} --seed 1"
  "tests.faults --kills 50 --seed 1"
  "tests.proofs.sql_attack --n 2000 --seed 1"
  "tests.proofs.sample_again"
)

failed=0
for proof in "${proofs[@]}"; do
  [[ $proof =~ ${ONLY:-.} ]] || continue
  {
    printf '\n$ python -m %s\n%s, commit %s\n' "$proof" "$(date -u +%FT%TZ)" "$commit"
    # The words of a proof are its module and its options.
    # shellcheck disable=SC2086
    "$python" -m $proof | tee "$said" && code=0 || code=$?
    if [[ ! -s $said ]]; then
      echo 'It said nothing, so nothing is proved.'
      code=1
    fi
    printf 'exit code %s\n' "$code"
  } > >(tee -a "$kept") || true
  [[ $code -eq 0 ]] || failed=1
done
echo "kept in $kept"
exit "$failed"
