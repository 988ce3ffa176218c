#!/bin/sh
# What some tests use beside Python. Installed only as root with a working apt; elsewhere those tests say why they skip.
missing=""
for tool in bwrap strace tmux zsh fish; do
	command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	apt-get update -qq >/dev/null 2>&1
	apt-get install -y -qq --no-install-recommends $(echo "$missing" | sed 's/bwrap/bubblewrap/') >/dev/null 2>&1 && exit 0
fi
echo "not installed:$missing (tests that need them are skipped)"
