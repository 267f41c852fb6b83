#!/bin/sh
# Installs what some tests need beside Python: Redis, PostgreSQL, a browser and Node. As root on
# Debian or Ubuntu; elsewhere it says what is missing, and those tests are skipped with the reason.
set -eu

missing=""
command -v redis-server >/dev/null || missing="$missing redis-server"
command -v chromium >/dev/null || missing="$missing chromium"
command -v node >/dev/null || missing="$missing nodejs"
# Debian keeps its programs out of the path.
command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ||
    missing="$missing postgresql"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Not installed:$missing. Tests that need it will be skipped." >&2
    exit 0
fi
echo "Installing$missing for the tests of the service." >&2
export DEBIAN_FRONTEND=noninteractive
# RUNLEVEL=1: the packages must not start servers of their own.
if ! { apt-get update -qq && RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $missing; } >/dev/null; then
    echo "Could not install$missing. Tests that need it will be skipped." >&2
fi
