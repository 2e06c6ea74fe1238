#!/bin/sh
# Release once a day, charged to a ledger for the whole year. For cron or a CI:
#
#   15 3 * * *  FOLDER=/srv/visits sh nightly.sh            (crontab)
#   script: FOLDER=out sh examples/nightly.sh               (a CI job; keep FOLDER between runs)
#
# FOLDER holds request.toml and gets year.ledger and a folder for each day. GAUSSMITH is the command (default: gaussmith).
# It can run again at any time: a day that was released costs nothing and gives the same answers. Nothing it prints
# depends on data but the released values. Exit code: 0 done, 2 wrong request, 3 the budget is spent, 4 data failure.
set -eu
folder=${FOLDER:-.}
day=${DAY:-$(date -u +%F)}
gaussmith=${GAUSSMITH:-gaussmith}

[ -e "$folder/year.ledger" ] || $gaussmith ledger init "$folder/year.ledger" --epsilon 3 --delta 1e-6 --keys-delta

if [ -e "$folder/$day/release.json" ]; then
  echo "$day was released before"
else
  $gaussmith release "$folder/request.toml" --ledger "$folder/year.ledger" --id "$day" --out "$folder/$day"
fi
$gaussmith ledger verify "$folder/year.ledger" --record "$folder/$day/release.json"
