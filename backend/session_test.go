package backend

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// largeFile is a text of more than one request takes: minutes of units in the order of time.
func largeFile(rows int) []byte {
	var b bytes.Buffer
	b.WriteString("time,unit,power (kW)\n")
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range rows {
		hour := float64(at.Hour()) + float64(at.Minute())/60
		fmt.Fprintf(&b, "%s,INV-%d,%.3f\n", at.Format("2006-01-02T15:04:05Z"), 1+i%2, max(0, 10-(hour-12)*(hour-12)/3))
		if i%2 == 1 {
			at = at.Add(time.Minute)
		}
	}
	return b.Bytes()
}

// TestUploadInParts: a large file comes in parts over a restart of the service, wrong
// parts are refused with what to do, and it is imported once and whole.
func TestUploadInParts(t *testing.T) {
	h := siteService(t)
	ctx := t.Context()
	const rows = 340_000
	file := largeFile(rows)
	if len(file) <= api.MaxUploadBytes {
		t.Fatalf("%d bytes are not large", len(file))
	}
	sum := sha256.Sum256(file)
	create := api.UploadSessionRequest{CustomerID: "acme", SiteID: "roof", Size: int64(len(file)), SHA256: hex.EncodeToString(sum[:]), Filename: "year.csv", Location: "47.07,15.44"}
	begin := func(r api.UploadSessionRequest) api.UploadSession {
		t.Helper()
		v, err := client.Call(ctx, h.Client, api.CreateUploadSession, r)
		if err != nil {
			t.Fatal(err)
		}
		return v.Session
	}
	session := begin(create)
	const part = 4 << 20
	send := func(offset int64) error {
		_, err := h.SendPart(ctx, session.SessionID, offset, file[offset:min(offset+part, int64(len(file)))])
		return err
	}
	for size, want := range map[int]string{api.MaxUploadBytes + 1: "Part too large: the limit is 10 MB", 0: "a part has at least one byte", 1000: "at least 262144 bytes"} {
		_, err := h.SendPart(ctx, session.SessionID, 0, file[:size])
		var refused *api.Error
		if !errors.As(err, &refused) || !strings.Contains(fmt.Sprint(refused.Message, refused.Details), want) || strings.Contains(fmt.Sprint(refused.Details), api.PathUploadSessions) {
			t.Errorf("a part of %d bytes: %v", size, err)
		}
	}
	if err := send(part); status(err) != http.StatusConflict {
		t.Errorf("a part that is not the next: %v", err)
	}
	var wg sync.WaitGroup
	stored := make(chan bool, 4)
	for range 4 {
		wg.Go(func() { stored <- send(0) == nil })
	}
	wg.Wait()
	close(stored)
	n := 0
	for ok := range stored {
		if ok {
			n++
		}
	}
	if n == 0 {
		t.Fatal("of parts at the same time none is stored")
	}
	if err := send(0); err != nil {
		t.Errorf("a part whose acknowledgement was lost: %v", err)
	}
	finish := func(id string) (*api.UploadAck, error) {
		return client.Call(ctx, h.Client, api.FinishUploadSession, api.UploadSessionMoveRequest{ID: id})
	}
	if _, err := finish(session.SessionID); status(err) != http.StatusConflict {
		t.Errorf("finished with missing parts: %v", err)
	}
	h.restart()
	if again := begin(create); again.SessionID != session.SessionID || again.Offset != part {
		t.Fatalf("begun again as %+v", again)
	}
	for at := int64(part); at < int64(len(file)); at += part {
		if err := send(at); err != nil {
			t.Fatal(err)
		}
	}
	ack, err := finish(session.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := finish(session.SessionID); err != nil || second.UploadID != ack.UploadID {
		t.Errorf("finished twice: %+v, %v", second, err)
	}
	h.restart()
	u := h.follow(ack.UploadID)
	if u.Error != "" || u.RowsRead != rows || u.RowsStored != rows || len(u.AssetIDs) != 2 || u.Bytes != int64(len(file)) || u.S3Path == "" {
		t.Fatalf("imported as %+v", u)
	}
	if n := len(h.values("roof", "INV-1")); n != rows/2 {
		t.Errorf("%d values are stored", n)
	}
	if left := h.left("roof"); len(left) == 0 {
		t.Error("the file is not kept")
	}

	wrong := create
	wrong.SHA256 = hex.EncodeToString(make([]byte, 32))
	wrong.Size = api.MinUploadPart
	session = begin(wrong)
	if _, err := h.SendPart(ctx, session.SessionID, 0, file[:wrong.Size]); err != nil {
		t.Fatal(err)
	}
	if _, err := finish(session.SessionID); status(err) != http.StatusConflict {
		t.Errorf("a file that differs: %v", err)
	}
	if _, err := finish(session.SessionID); !errors.Is(err, api.ErrSessionNotFound) {
		t.Errorf("a file that differed is there still: %v", err)
	}
	wrong.Size = 3 << 30
	_, err = client.Call(ctx, h.Client, api.CreateUploadSession, wrong)
	var large *api.Error
	if !errors.As(err, &large) || large.Status != http.StatusRequestEntityTooLarge || large.Message != "Upload too large: the limit of this service is 2048 MB" ||
		large.Details["field"] != "size" || !strings.Contains(fmt.Sprint(large.Details["reason"]), "--max-upload") {
		t.Errorf("a file that is too large: %v", err)
	}
	wrong.Size = 1 << 20
	for i := range api.MaxUploadSessions + 1 {
		wrong.Filename = fmt.Sprint(i)
		if _, err = client.Call(ctx, h.Client, api.CreateUploadSession, wrong); err != nil {
			break
		}
	}
	if status(err) != http.StatusConflict {
		t.Errorf("too many sessions: %v", err)
	}

	reverted, err := h.RevertUpload(ctx, ack.UploadID)
	if err != nil || reverted.RowsRemoved != rows {
		t.Fatalf("reverted as %+v, %v", reverted, err)
	}
	if n := len(h.values("roof", "INV-1")); n != 0 {
		t.Errorf("%d values are left of a file that was reverted", n)
	}
}
