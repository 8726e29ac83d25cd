package pgtest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPU starts to count the processor time of the server's processes; the
// returned function reports it. Processes that have ended meanwhile are not
// counted, nor is vacuuming, which occurs at any time.
func (s *Server) CPU() (used func() time.Duration) {
	before := s.processes()
	return func() (sum time.Duration) {
		for pid, now := range s.processes() {
			sum += now - before[pid]
		}
		return sum
	}
}

// processes are the processor times of the server's processes by their ids.
func (s *Server) processes() map[string]time.Duration {
	pid := strconv.Itoa(s.process.cmd.Process.Pid)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%s/task/%s/children", pid, pid))
	times := map[string]time.Duration{}
	for _, id := range append(strings.Fields(string(children)), pid) {
		name, _ := os.ReadFile("/proc/" + id + "/cmdline")
		if bytes.Contains(name, []byte("autovacuum worker")) {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + id + "/schedstat") // it may have ended
		if ns, err := strconv.ParseInt(strings.Fields(string(stat) + " 0")[0], 10, 64); err == nil {
			times[id] = time.Duration(ns)
		}
	}
	return times
}
