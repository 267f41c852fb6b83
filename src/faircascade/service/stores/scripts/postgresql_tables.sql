-- The tables of one store. Rows of users and impressions change once or more: what that leaves
-- behind is cleared early. Ids and names are bytes: a client may send text that PostgreSQL refuses.
CREATE TABLE store (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    id text NOT NULL, -- tells it from another store that is put in its place
    format int NOT NULL,
    shape text NOT NULL,
    version bigint NOT NULL DEFAULT 0 -- of the catalogue
);
CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE items (
    id bytea PRIMARY KEY, slot int NOT NULL UNIQUE, features bytea NOT NULL,
    merit float8 NOT NULL, popularity float8 NOT NULL, labels text NOT NULL,
    attributes text NOT NULL,
    removed boolean NOT NULL, version bigint NOT NULL
);
CREATE INDEX items_version ON items (version);
CREATE TABLE users (name bytea PRIMARY KEY, rounds bigint NOT NULL, sums float8[])
    WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE cohorts (name bytea PRIMARY KEY, slates bigint NOT NULL, sums float8[])
    WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE accounts (
    name bytea NOT NULL, slot int NOT NULL, units bigint NOT NULL, PRIMARY KEY (name, slot)
);
CREATE TABLE impressions (
    id bytea PRIMARY KEY, name bytea NOT NULL, round bigint NOT NULL, time float8 NOT NULL,
    slots bytea NOT NULL, features bytea NOT NULL, note bytea NOT NULL,
    clicked bytea, examined int, details bytea -- the answer
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX impressions_name ON impressions (name, round);
CREATE INDEX impressions_time ON impressions (time);
CREATE INDEX impressions_open ON impressions (time) WHERE clicked IS NULL;
CREATE SEQUENCE event_numbers;
CREATE TABLE events (
    number bigint PRIMARY KEY DEFAULT nextval('event_numbers'), time float8 NOT NULL,
    answered boolean NOT NULL, slots bytea NOT NULL, note bytea NOT NULL,
    added timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE changes ( -- numbered with the events: what is settled of one is of the other
    number bigint PRIMARY KEY DEFAULT nextval('event_numbers'), body bytea NOT NULL
);
CREATE TABLE counts (
    one boolean PRIMARY KEY DEFAULT true CHECK (one), cursor bigint NOT NULL, body bytea NOT NULL
);
-- Random numbers do not compress.
ALTER TABLE items ALTER features SET STORAGE EXTERNAL;
ALTER TABLE users ALTER sums SET STORAGE EXTERNAL;
ALTER TABLE cohorts ALTER sums SET STORAGE EXTERNAL;
ALTER TABLE impressions ALTER features SET STORAGE EXTERNAL;
ALTER TABLE counts ALTER body SET STORAGE EXTERNAL;
ALTER TABLE changes ALTER body SET STORAGE EXTERNAL;
-- From now on the sequence tells the last number that was given.
SELECT nextval('event_numbers');
