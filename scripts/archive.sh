# scripts/archive.sh - a private view of Debian 13's archive, for systems that are not Debian 13 or
# lack its backports; sourced, needs no root and changes nothing in the system

# The archive's address is what the system's own apt uses; $1 is Debian or Debian-Security.
archive_address() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        "Label: $1" | sort -u | head -n 1
}

# archive_open DIRECTORY: makes DIRECTORY/apt.conf for APT_CONFIG, and fetches the lists of packages
# when they are older than an hour.
archive_open() {
    local directory=$1 suite archive security
    local keys=/usr/share/keyrings/debian-archive-keyring.gpg
    archive=$(archive_address Debian)
    security=$(archive_address Debian-Security)
    if [ -z "$archive" ]; then
        echo "apt knows no Debian archive (apt-get update may help)" >&2
        return 1
    fi
    mkdir -p "$directory/lists/partial" "$directory/cache/archives/partial"
    {
        for suite in trixie trixie-updates trixie-backports; do
            echo "deb [signed-by=$keys] $archive $suite main"
        done
        [ -z "$security" ] || echo "deb [signed-by=$keys] $security trixie-security main"
    } >"$directory/sources.list"
    cat >"$directory/apt.conf" <<EOF
Dir::Etc::sourcelist "$directory/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$directory/lists";
Dir::Cache "$directory/cache";
APT::Sandbox::User "";
APT::Keep-Downloaded-Packages "true";
Binary::apt-get::APT::Keep-Downloaded-Packages "true";
Acquire::Languages "none";
Acquire::Retries "3";
EOF
    [ -n "$(find "$directory/fetched" -mmin -60 2>/dev/null)" ] || {
        APT_CONFIG=$directory/apt.conf apt-get -qq -o APT::Update::Error-Mode=any update &&
            touch "$directory/fetched"
    }
}
