#!/bin/sh
# Run once by the image, when its volume is empty: a role for ragkit that is no superuser, its
# database, and pgvector, which only a superuser can install.
set -eu
[ -s "$DATABASE_PASSWORD_FILE" ] || { echo "$DATABASE_PASSWORD_FILE is missing or empty" >&2; exit 1; }
psql --no-psqlrc --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
\set password `cat "$DATABASE_PASSWORD_FILE"`
SET log_statement = 'none';
CREATE ROLE ragkit LOGIN PASSWORD :'password';
CREATE DATABASE ragkit OWNER ragkit;
REVOKE ALL ON DATABASE ragkit FROM PUBLIC;
\connect ragkit
CREATE EXTENSION vector;
SQL
