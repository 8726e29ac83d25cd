//go:build !gateway

package postgres

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"app.sunloop/backend/store"
	"app.sunloop/internal/clock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versionTable is where the schema's version is kept: by it a database is
// known to be Sunloop's.
const versionTable = "sunloop.schema_version"

// migrationLock is the key of the advisory lock under which the schema is
// changed: "sunloop" in letters.
const migrationLock = 0x73756e6c6f6f70

// Limits of connections, unless the URL sets others.
const (
	connectTimeout = 5 * time.Second
	maxConnections = 16
)

// Errors of Open that callers branch on.
var (
	ErrReadOnly = errors.New("it is read-only; Sunloop needs the primary and a user who may write")
	ErrForeign  = errors.New("it has tables of another program; Sunloop needs a separate database")
)

// Open connects to the database of a URL such as
// postgres://user:password@host:5432/sunloop, creates the tables in an empty
// one and upgrades older ones. The error is store.ErrNewer if a newer version
// of Sunloop created them. Errors name the database, and never the password.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	pool, what, err := dial(ctx, url, o)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, pool, migrations, o.Migrate); err != nil {
		pool.Close()
		return nil, fmt.Errorf("%s: %w", what, opening(err))
	}
	if !o.Importing {
		if err := moving(ctx, pool); err != nil {
			pool.Close()
			return nil, fmt.Errorf("%s: %w", what, opening(err))
		}
	}
	return newStore(pool, o), nil
}

// dial opens a pool of connections, and returns a description of the database
// for messages.
func dial(ctx context.Context, url string, o Options) (pool *pgxpool.Pool, what string, err error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, "", errURL
	}
	if !strings.Contains(url, "connect_timeout") {
		cfg.ConnConfig.ConnectTimeout = connectTimeout
	}
	if !strings.Contains(url, "pool_max_conns") {
		cfg.MaxConns = maxConnections
	}
	if cfg.MaxConns < 2 {
		cfg.MaxConns = 2 // the schema is changed while its lock is held
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "sunloop"
	}
	cfg.AfterConnect = keepPlans
	cfg.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		readCredentials(c, url, o.URLFile)
		return nil
	}
	l := &limiter{limit: cmp.Or(o.Limit, defaultLimit), log: o.Log}
	if o.Importing {
		l.limit = longLimit
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	cfg.ConnConfig.Tracer = l
	c := cfg.ConnConfig
	what = fmt.Sprintf("open database %s at %s", c.Database, net.JoinHostPort(c.Host, fmt.Sprint(c.Port)))
	if pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, "", fmt.Errorf("%s: %w", what, opening(err))
	}
	return pool, what, nil
}

// keepPlans makes a connection that prepares its statements plan each of them
// once: all of them look up by keys, and over a table's partitions planning
// costs more than the look-up.
func keepPlans(ctx context.Context, conn *pgx.Conn) error {
	if conn.Config().DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		return nil
	}
	_, err := conn.Exec(ctx, `SET plan_cache_mode = force_generic_plan`)
	return err
}

// opening is an error of Open as a sentence for who runs the service.
func opening(err error) error {
	var pg *pgconn.PgError
	var own *databaseError
	switch {
	case errors.Is(err, ErrReadOnly), errors.Is(err, ErrForeign), errors.Is(err, ErrImporting), errors.Is(err, store.ErrNewer):
		return err
	case errors.As(err, &pg) && pg.Code == noPrivilege:
		return &databaseError{"create the tables", "the user lacks the privilege", err}
	case errors.As(err, &pg) && pg.Code == readOnlyTransaction:
		return ErrReadOnly
	case errors.As(err, &pg):
		return errors.New(plain(err))
	case errors.As(err, new(*pgconn.ConnectError)):
	case errors.Is(err, context.Canceled), !errors.As(err, &own):
		return err
	}
	why := "no answer"
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		why = "there is no such host"
	case errors.As(err, &op) && !op.Timeout():
		why = op.Err.Error()
	}
	return &databaseError{"unreachable", why, err}
}

// migrate brings the schema up to the newest that the files know, while no other
// process does. The lock is that of a transaction, which ends with its
// connection: a pooler cannot hand it on, and a killed process leaves none.
func migrate(ctx context.Context, pool *pgxpool.Pool, files fs.FS, queue func(context.Context, *pgxpool.Pool) error) error {
	short := ctx
	ctx = long(ctx)
	tx, err := pool.Begin(short)
	if refusesCredentials(err) && clock.Sleep(ctx, credentialPause) == nil {
		tx, err = pool.Begin(short)
	}
	if err != nil {
		return fault("connect", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // it wrote nothing
	var readOnly bool
	if err := tx.QueryRow(short, `SELECT `+isReadOnly+` OR `+mayNotWrite).Scan(&readOnly); err != nil {
		return fault("look at the database", err)
	}
	if readOnly {
		return ErrReadOnly
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		return fault("lock the schema", err)
	}
	if err := prepare(ctx, tx, pool); err != nil {
		return err
	}
	folder, err := fs.Sub(files, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }() // the pool stays open
	p, err := goose.NewProvider(goose.DialectPostgres, db, folder, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	is, known, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if is > known {
		return fmt.Errorf("%w: schema %d, this one knows up to %d", store.ErrNewer, is, known)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("upgrade schema: %w", err)
	}
	if queue == nil {
		return nil
	}
	return queue(ctx, pool)
}

// holdsOurs reports whether a database has Sunloop's tables. The error is
// ErrForeign if it has only other tables.
func holdsOurs(ctx context.Context, db querier) (ours bool, err error) {
	var foreign bool
	err = db.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL, EXISTS (
		SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
		AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e'))`, versionTable).Scan(&ours, &foreign)
	if err == nil && foreign && !ours {
		return false, ErrForeign
	}
	return ours, fault("look at the tables", err)
}

// prepare rejects a database of another program, and creates the schema in an
// empty one, on a separate connection because it must exist for the others.
func prepare(ctx context.Context, tx pgx.Tx, pool *pgxpool.Pool) error {
	ours, err := holdsOurs(ctx, tx)
	if err != nil || ours {
		return err
	}
	if _, err := pool.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS sunloop`); err != nil {
		return fault("make the schema", err)
	}
	return nil
}

// Schema is the version of the tables.
func (s *Store) Schema(ctx context.Context) (int, error) {
	var v int
	err := s.pool.QueryRow(ctx, `SELECT max(version_id)::integer FROM `+versionTable+` WHERE is_applied`).Scan(&v)
	return v, fault("read the schema's version", err)
}
