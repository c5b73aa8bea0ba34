#!/bin/sh
# Serves the explorer with signed sessions. What they are signed with is made at the first start and
# kept in $STATE_DIRECTORY (systemd sets it), else in ~/.local/state/spillway. Arguments are those of
# `panel serve`; PANEL names another one than that of this checkout.
set -eu
umask 077
for argument; do
    case $argument in
    --num-procs | --num-procs=*)
        echo "start.sh: --num-procs does not work: start several servers (docs/deployment.md)" >&2
        exit 2
        ;;
    esac
done
here=$(cd "$(dirname "$0")/../.." && pwd)
state=${STATE_DIRECTORY:-$HOME/.local/state/spillway}
mkdir -p "$state"
for name in session cookie; do
    if [ ! -s "$state/$name.secret" ]; then
        head -c 32 /dev/urandom | od -An -vtx1 | tr -d ' \n' >"$state/$name.new"
        mv "$state/$name.new" "$state/$name.secret"
    fi
done
BOKEH_SIGN_SESSIONS=yes
BOKEH_SECRET_KEY=$(cat "$state/session.secret")
BOKEH_COOKIE_SECRET=$(cat "$state/cookie.secret")
export BOKEH_SIGN_SESSIONS BOKEH_SECRET_KEY BOKEH_COOKIE_SECRET
cd "$here"
panel=${PANEL:-$here/.venv/bin/panel}
if ! command -v "$panel" >/dev/null; then
    echo "start.sh: no $panel: python3 run.py explorer --help installs it; PANEL names another" >&2
    exit 2
fi
exec "$panel" serve --setup app/setup.py "$@" app/main.py
