// Package s3test gives tests a real S3 server of their own, versitygw over a
// temporary folder on a free port of the loopback, which ends with the test
// binary, however that ends. Where versitygw is not installed, tests are
// skipped; in CI they fail.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(s3test.Main(m)) }
//
//	func TestSomething(t *testing.T) { uri := s3test.Bucket(t) … }
package s3test

import (
	"context"
	"fmt"
	"go/build"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// AccessKey and SecretKey are of the servers' one administrator.
const (
	AccessKey = "sunloop-test"
	SecretKey = "only-for-tests"
)

const region = "eu-central-1"

// Server is a running versitygw.
type Server struct {
	root    string // buckets, accounts and the log, each in a folder
	port    string
	process *process
	users   atomic.Int64
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// buckets numbers the buckets of all servers.
var buckets atomic.Int64

// Bucket makes an empty bucket, on a server that all tests of the binary share,
// and returns its URI in the form of objects.OpenBucket. Until the test ends
// the environment has credentials with all permissions in it, and none of the
// machine's own.
func Bucket(t testing.TB) (uri string) {
	t.Helper()
	skipWithout(t)
	shared.once.Do(func() { shared.server, shared.err = start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.Bucket(t)
}

// Runner is what [testing.M] is to TestMain.
type Runner interface{ Run() int }

type runner struct{ m Runner }

func (r runner) Run() int {
	code := r.m.Run()
	if shared.server != nil {
		shared.server.remove()
	}
	return code
}

// Main runs the tests of m and then ends the server they shared.
func Main(m Runner) Runner { return runner{m} }

// Start starts a server of the test's own, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	skipWithout(t)
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s
}

func skipWithout(t testing.TB) {
	t.Helper()
	switch {
	case program() != "":
	case os.Getenv("CI") == "true":
		t.Fatal("versitygw is not installed: .ci/tools installs it")
	default:
		t.Skip("versitygw is not installed")
	}
}

// Installed reports whether there is a server to run.
func Installed() bool { return program() != "" }

// program is the path of versitygw; empty without it, or without a shell to
// run it.
var program = sync.OnceValue(func() string {
	if _, err := exec.LookPath("sh"); err != nil {
		return ""
	}
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path
	}
	path := filepath.Join(build.Default.GOPATH, "bin", "versitygw")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
})

// start runs a server over a new folder. Another program may take the free port
// before it does.
func start() (s *Server, err error) {
	root, err := os.MkdirTemp("", "sunloop-s3-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the S3 server: %w", err)
	}
	s = &Server{root: root}
	for _, dir := range []string{"buckets", "versions", "sidecar", "accounts"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			return nil, err
		}
	}
	for range 5 {
		l, listenErr := net.Listen("tcp", "127.0.0.1:0")
		if listenErr != nil {
			return nil, listenErr
		}
		s.port = fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
		_ = l.Close()
		if err = s.Restart(); err == nil {
			return s, nil
		}
	}
	os.RemoveAll(root)
	return nil, err
}

// Restart runs a server that was stopped, or is new, and waits until it
// answers.
func (s *Server) Restart() error {
	log, err := os.OpenFile(filepath.Join(s.root, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own
	// Metadata of objects are in a folder: not every file system for
	// temporary files has extended attributes.
	s.process, err = launch(log, []string{"ROOT_ACCESS_KEY=" + AccessKey, "ROOT_SECRET_KEY=" + SecretKey}, program(),
		"--quiet", "--keep-alive", "--port", "127.0.0.1:"+s.port, "--region", region,
		"--iam-dir", filepath.Join(s.root, "accounts"), "--iam-cache-disable",
		"posix", "--versioning-dir", filepath.Join(s.root, "versions"), "--sidecar", filepath.Join(s.root, "sidecar"), filepath.Join(s.root, "buckets"))
	if err != nil {
		return fmt.Errorf("start the S3 server: %w", err)
	}
	if err := s.answers(); err != nil {
		s.Stop()
		return err
	}
	return nil
}

// patience is how long a server may take to come up on a busy machine.
const patience = 2 * time.Minute

// answers waits until the server takes its own administrator.
func (s *Server) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := s.asRoot(func(c *s3.Client) error {
			_, err := c.ListBuckets(ctx, nil)
			return err
		})
		if err == nil {
			return nil
		}
		select {
		case <-s.process.ended:
			text, _ := os.ReadFile(filepath.Join(s.root, "log"))
			return fmt.Errorf("the S3 server ended: %s", text)
		case <-ctx.Done():
			return fmt.Errorf("the S3 server does not answer: %w", err)
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// asRoot gives f a client of the administrator.
func (s *Server) asRoot(f func(*s3.Client) error) error {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	return f(s3.New(s3.Options{
		BaseEndpoint: aws.String(s.Endpoint()), Region: region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(AccessKey, SecretKey, ""),
		HTTPClient:  &http.Client{Transport: transport},
	}))
}

// Stop ends the server and waits for it. Its buckets stay.
func (s *Server) Stop() { s.process.stop() }

func (s *Server) remove() {
	s.Stop()
	os.RemoveAll(s.root)
}

// Endpoint is where the server listens, as http://127.0.0.1:port.
func (s *Server) Endpoint() string { return "http://127.0.0.1:" + s.port }

// Bucket makes an empty bucket; see the function of this name.
func (s *Server) Bucket(t testing.TB) (uri string) {
	t.Helper()
	name := fmt.Sprintf("sunloop-%d", buckets.Add(1))
	s.must(t, func(c *s3.Client) error {
		_, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name})
		return err
	})
	Credentials(t, AccessKey, SecretKey)
	return URI(name, s.Endpoint())
}

// URI names a bucket at an endpoint.
func URI(bucket, endpoint string) string {
	query := url.Values{"region": {region}, "endpoint": {endpoint}, "use_path_style": {"true"}}
	return "s3://" + bucket + "?" + query.Encode()
}

func (s *Server) must(t testing.TB, f func(*s3.Client) error) {
	t.Helper()
	if err := s.asRoot(f); err != nil {
		t.Fatal(err)
	}
}

// Credentials puts credentials, and nothing else that SDKs for S3 read, into the
// environment until the test ends.
func Credentials(t testing.TB, access, secret string) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for _, set := range os.Environ() {
		if name, _, _ := strings.Cut(set, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
}

// KeepVersions makes a bucket of the shared server keep deleted versions.
func KeepVersions(t testing.TB, uri string) {
	t.Helper()
	bucket := BucketOf(t, uri)
	shared.server.must(t, func(c *s3.Client) error {
		_, err := c.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
			Bucket: &bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled}})
		return err
	})
}

// CredentialsFile puts the name of a file of credentials, which [WriteCredentials]
// has filled, and nothing else that SDKs for S3 read, into the environment until
// the test ends.
func CredentialsFile(t testing.TB, file string) {
	t.Helper()
	Credentials(t, "", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
}

// WriteCredentials writes a file of credentials as AWS's tools do, and replaces
// a former one.
func WriteCredentials(t testing.TB, file, access, secret string) {
	t.Helper()
	text := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", access, secret)
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// Account creates an account with all permissions, or gives an existing one
// another secret.
func (s *Server) Account(t testing.TB, user, secret string) {
	t.Helper()
	admin := func(args ...string) ([]byte, error) {
		all := append([]string{"admin", "--access", AccessKey, "--secret", SecretKey, "--region", region, "--endpoint-url", s.Endpoint()}, args...)
		return exec.CommandContext(t.Context(), program(), all...).CombinedOutput()
	}
	if _, err := admin("update-user", "--access", user, "--secret", secret, "--role", "admin"); err == nil {
		return
	}
	if out, err := admin("create-user", "--access", user, "--secret", secret, "--role", "admin"); err != nil {
		t.Fatalf("make an account: %v: %s", err, out)
	}
}

// Grant creates an account that has permission for the actions, such as
// s3:GetObject, in the bucket and nothing else, and sets its credentials in the
// environment until the test ends. A second grant on the bucket ends the first.
func (s *Server) Grant(t testing.TB, uri string, actions ...string) {
	t.Helper()
	bucket := BucketOf(t, uri)
	user := fmt.Sprintf("user-%d", s.users.Add(1))
	create := exec.CommandContext(t.Context(), program(), "admin", "--access", AccessKey, "--secret", SecretKey, "--region", region,
		"--endpoint-url", s.Endpoint(), "create-user", "--access", user, "--secret", SecretKey, "--role", "user")
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("make an account: %v: %s", err, out)
	}
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":[%q]},"Action":[%s],"Resource":[%s]}]}`,
		user, quoted(actions), quoted([]string{"arn:aws:s3:::" + bucket, "arn:aws:s3:::" + bucket + "/*"}))
	s.must(t, func(c *s3.Client) error {
		_, err := c.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: &policy})
		return err
	})
	Credentials(t, user, SecretKey)
}

func quoted(words []string) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(all, ",")
}

// BucketOf is the bucket's name in a URI.
func BucketOf(t testing.TB, uri string) string {
	t.Helper()
	return parsed(t, uri).Host
}

func parsed(t testing.TB, uri string) *url.URL {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
