# make says by this what to type where no Python is there to say it: sh tools/no_python.sh [the PYTHON= that was asked for]
if [ -n "$1" ]; then
    echo "PYTHON=$1 is not here. Name one that is, or leave PYTHON out" >&2
    exit 1
fi
release=${OS_RELEASE:-/etc/os-release}
[ -r "$release" ] && . "$release"
type=
while read -r name command; do
    [ "$name" = "${UBUNTU_CODENAME:-$VERSION_CODENAME}" ] && type=$command
done < tools/packages.txt
if [ -z "$type" ]; then
    echo "Python is missing. Install 3.11, 3.12 or 3.13 with its venv, then type the same make command again" >&2
    exit 1
fi
[ "$(id -u)" = 0 ] || type="sudo sh -c '$type'"
echo "Python is missing. Type this, then the same make command again:
    $type" >&2
exit 1
