package s3test

import (
	"io"
	"os"
	"os/exec"
)

// guarded is a shell's program that runs its arguments as a child and ends it
// when its own standard input does, as it does at the latest when the process
// that holds the write end is dead.
const guarded = `exec 3<&0
"$@" </dev/null 3<&- & child=$!
{ read -r _ <&3; kill $child 2>/dev/null; } & guard=$!
wait $child
kill $guard 2>/dev/null`

// process is a running server.
type process struct {
	hold  io.Closer
	ended chan struct{}
}

// launch starts a program that does not outlive this process.
func launch(log *os.File, env []string, program string, args ...string) (*process, error) {
	cmd := exec.Command("sh", append([]string{"-c", guarded, "sh", program}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = os.TempDir(), log, log
	cmd.Env = append(os.Environ(), env...)
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{hold, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // ended is all that matters
		close(p.ended)
	}()
	return p, nil
}

// stop ends the process and waits for it.
func (p *process) stop() {
	p.hold.Close()
	<-p.ended
}
