#!/bin/sh
# Make the secrets that docker-compose.yml names, each at random, and never touch one that exists.
#
# Compose mounts a secret's file with the owner and mode that it has here (docker/compose#9648), and
# the services run as users of their own. So the files can be read by all, and the folder, which
# nobody but its owner may enter, is what keeps others out.
set -eu
umask 077
folder=$(dirname "$0")/secrets
mkdir -p "$folder"
chmod 700 "$folder"

say() { printf '%s\n' "$1" >&2; }

new() { # NAME: take standard input, unless there is such a file
    if [ -e "$folder/$1" ]; then
        say "kept    $folder/$1"
        return
    fi
    cat > "$folder/$1.part"
    if ! [ -s "$folder/$1.part" ]; then
        rm -f "$folder/$1.part"
        say "make-secrets: nothing came for $1: see the message above."
        exit 1
    fi
    chmod 444 "$folder/$1.part"
    mv "$folder/$1.part" "$folder/$1"
    say "made    $folder/$1"
}

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

for name in postgres_password database_password llm_api_key grafana_password; do
    random | new "$name.txt"
done
printf 'postgresql://ragkit:%s@postgres:5432/ragkit' "$(cat "$folder/database_password.txt")" |
    new database_url.txt

# For the first start: a certificate that no browser trusts. Put your own in its place.
if [ -e "$folder/tls_key.pem" ] && [ -e "$folder/tls_certificate.pem" ]; then
    say "kept    $folder/tls_certificate.pem and tls_key.pem"
elif [ -e "$folder/tls_key.pem" ] || [ -e "$folder/tls_certificate.pem" ]; then
    say "make-secrets: one of $folder/tls_key.pem and tls_certificate.pem is missing: add it."
    exit 1
elif command -v openssl > /dev/null; then
    name=${1:-localhost}
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 90 \
        -subj "/CN=$name" -addext "subjectAltName=DNS:$name" \
        -keyout "$folder/key.part" -out "$folder/certificate.part" 2> "$folder/openssl.log" || {
        cat "$folder/openssl.log" >&2
        rm -f "$folder"/*.part
        exit 1
    }
    new tls_key.pem < "$folder/key.part"
    new tls_certificate.pem < "$folder/certificate.part"
    rm -f "$folder"/*.part "$folder/openssl.log"
    say "        (self-signed for $name, for 90 days)"
else
    say "left out: tls_certificate.pem and tls_key.pem: install openssl, or put your own there."
fi
