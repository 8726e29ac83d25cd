package laws

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/check"
)

// TestCheck changes a stored day sum and its checksum, so that only the samples
// contradict it: the check of the data folder must find it, and must find nothing
// before.
func TestCheck(t *testing.T) {
	v := newTally()
	for _, seed := range seeds(t, 3, 7) {
		p := draw(seed)
		h := open(t, p.start.AddDate(0, 0, -1), 0)
		if !p.feed(h, newTally()) {
			continue
		}
		h.down()
		sound, err := check.Folder(t.Context(), check.Paths{DataDir: h.dir})
		v.hold("admin check finds nothing in a sound folder", err == nil && len(sound.Faults) == 0, "%v: %v %q", p, err, sound.Faults)
		for _, factor := range []float64{0.8, 1.25} {
			// Around a gap the length of an interval is uncertain, and so is a sum.
			if p.gaps || !changeSum(t, h.dir, factor) {
				continue
			}
			wrong, err := check.Folder(t.Context(), check.Paths{DataDir: h.dir})
			found := false
			for _, text := range wrong.Faults {
				found = found || strings.Contains(text, "production")
			}
			v.hold("admin check finds a wrong stored sum", err == nil && found, "%v: a sum times %v: %v %q", p, factor, err, wrong.Faults)
			changeSum(t, h.dir, 1/factor)
		}
	}
	v.report(t)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is that of a value with its key, below the one of its bucket.
func checksum(seed uint32, key, value []byte) uint32 {
	return crc32.Update(crc32.Update(seed^uint32(len(key))*0x9E3779B1, castagnoli, key), castagnoli, value)
}

// changeSum multiplies the production of the first stored day with energy, and
// corrects the checksum of its row. It reports whether there is such a day.
func changeSum(t *testing.T, dir string, factor float64) (changed bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("find the database: %q, %v", files, err)
	}
	db, err := bbolt.Open(files[0], 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatalf("open database: %v", err)
	}
	var walk func(b *bbolt.Bucket, seed uint32, inSums bool) error
	walk = func(b *bbolt.Bucket, seed uint32, inSums bool) error {
		return b.ForEach(func(key, stored []byte) error {
			if in := b.Bucket(key); stored == nil && in != nil {
				return walk(in, checksum(seed, key, nil), bytes.Equal(key, []byte("sums")))
			}
			if !inSums || changed || len(stored) < 24 {
				return nil
			}
			value := bytes.Clone(stored[:len(stored)-4])
			kWh := math.Float64frombits(binary.LittleEndian.Uint64(value[12:])) // of the first day
			if !(kWh > 1) {
				return nil
			}
			changed = true
			binary.LittleEndian.PutUint64(value[12:], math.Float64bits(kWh*factor))
			return b.Put(bytes.Clone(key), binary.LittleEndian.AppendUint32(value, checksum(seed, key, value)))
		})
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return walk(b, checksum(0, name, nil), false) })
	})
	if err != nil {
		t.Fatalf("change a sum: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatalf("close database: %v", err)
	}
	return changed
}
