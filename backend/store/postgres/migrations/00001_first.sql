-- +goose Up

-- Every table may be spread over machines by its first-named column below, its
-- distribution column, which is part of each primary key: shard of kv, site of
-- the tables of telemetry, key of rate, name of leader. Nothing refers from one
-- table to another and no number comes from a sequence. Text and bytea sort by
-- their bytes, as Go sorts.

-- Records. The whole key is shard ‖ key; shard ends behind its first part, which
-- is a customer or a site. (shard, key) sorts as the whole key does.
CREATE TABLE sunloop.kv (
    shard  bytea NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    key    bytea NOT NULL,
    value  bytea NOT NULL,
    PRIMARY KEY (bucket, shard, key)
);

-- Telemetry: what is known of a site as a whole, whose row its writers lock; its
-- assets by number; and three kinds of values by asset and time in Unix seconds.
CREATE TABLE sunloop.site (
    site   text COLLATE "C" PRIMARY KEY,
    layout bytea NOT NULL,
    roster bytea NOT NULL
);
CREATE TABLE sunloop.asset (
    site  text COLLATE "C" NOT NULL,
    asset text COLLATE "C" NOT NULL,
    ref   integer NOT NULL,
    PRIMARY KEY (site, asset)
);

-- The blocks of the days that are over, compressed already.
CREATE TABLE sunloop.block (
    site  text COLLATE "C" NOT NULL,
    ref   integer NOT NULL,
    start bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (site, ref, start)
) PARTITION BY HASH (site);
ALTER TABLE sunloop.block ALTER value SET STORAGE EXTERNAL;
-- +goose StatementBegin
DO $$
BEGIN
    FOR i IN 0..15 LOOP
        EXECUTE format('CREATE TABLE sunloop.block_%s PARTITION OF sunloop.block FOR VALUES WITH (MODULUS 16, REMAINDER %s)', i, i);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- The sums of their days, a month in a value.
CREATE TABLE sunloop.daysum (
    site  text COLLATE "C" NOT NULL,
    ref   integer NOT NULL,
    start bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (site, ref, start)
);

-- The open day, one row a stamp for all units of the site, so ref is 0.
CREATE TABLE sunloop.tail (
    site  text COLLATE "C" NOT NULL,
    ref   integer NOT NULL,
    start bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (site, ref, start)
);

-- The stamps of a key's accepted requests in Unix nanoseconds, and whether the
-- last one that asked was accepted.
CREATE TABLE sunloop.rate (
    key    text COLLATE "C" PRIMARY KEY,
    stamps bigint[] NOT NULL,
    taken  boolean NOT NULL
);

-- Who does what one replica at a time may do, and until when, by the database's
-- own clock.
CREATE TABLE sunloop.leader (
    name   text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    until  timestamptz NOT NULL
);
