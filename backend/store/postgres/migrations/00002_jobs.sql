-- +goose Up

-- Jobs are River's (river_job and its tables, which its own migrations make);
-- beside them stands what River has no word for.

-- A job that was asked for while another of its kind and unique key ran: it is
-- inserted when that has ended.
CREATE TABLE sunloop.job_again (
    key    text COLLATE "C" NOT NULL,
    kind   text COLLATE "C" NOT NULL,
    job    jsonb NOT NULL,
    run_at timestamptz NOT NULL,
    PRIMARY KEY (key, kind)
);

-- The workers that live, by the ids that River notes with their jobs, and until
-- when they are held to, by the database's own clock.
CREATE TABLE sunloop.worker (
    id    text COLLATE "C" PRIMARY KEY,
    until timestamptz NOT NULL
);
