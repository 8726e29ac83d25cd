package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/learn/artifact"
)

// modelType is what the registry calls the models of this package.
const modelType = api.ModelForecasting

// maxArtefact bounds what is read of an artefact: many times what a site's
// model takes.
const maxArtefact = 64 << 20

// cache keeps decoded production models by site.
type cache struct {
	mu sync.Mutex
	of map[string]loaded
}

type loaded struct {
	record  ops.Model
	model   *forecast.Model
	learned time.Time // up to when it has seen actuals
}

// maxCached models of about a megabyte each are kept: the sites that people look
// at. For the others a model is read again for each forecast, in a millisecond or two.
const maxCached = 64

func (c *cache) get(siteID, hash string, learned time.Time) (loaded, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.of[siteID]
	return l, ok && l.record.Hash == hash && l.learned.Equal(learned)
}

func (c *cache) put(siteID string, l loaded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]loaded{}
	}
	if len(c.of) >= maxCached {
		for other := range c.of { // any one: they are cheap to read again
			delete(c.of, other)
			break
		}
	}
	c.of[siteID] = l
}

// model is the site's production model, ready to forecast;
// [store.ErrNotFound] when there is none. One whose artefact is damaged is
// taken out of the registry, and the site is trained again.
func (p *Pipeline) model(ctx context.Context, siteID string) (loaded, error) {
	record, err := p.Ops.ProductionModel(ctx, siteID, modelType)
	if err != nil {
		return loaded{}, err
	}
	// Another replica may have let it learn.
	c, err := p.calibration(ctx, record)
	if err != nil {
		return loaded{}, err
	}
	if l, ok := p.models.get(siteID, record.Hash, c.To); ok {
		l.record = record
		return l, nil
	}
	m, err := p.decode(ctx, record)
	if ctx.Err() != nil {
		return loaded{}, ctx.Err()
	}
	if errors.Is(err, store.ErrUnavailable) {
		return loaded{}, err // which says nothing of the model
	}
	if err != nil {
		p.Logger.Error("a model cannot be read, the site will be trained again", "site", siteID, "model", record.ModelVersion, "error", err)
		return loaded{}, errors.Join(store.ErrNotFound, p.refuseModel(ctx, record, err))
	}
	p.calibrate(record, c, m)
	l := loaded{record, m, c.To}
	p.models.put(siteID, l)
	return l, nil
}

// decode reads a registered forecasting model; what was changed since is
// refused.
func (p *Pipeline) decode(ctx context.Context, record ops.Model) (*forecast.Model, error) {
	a, err := p.registered(ctx, record)
	if err != nil {
		return nil, err
	}
	return forecast.Decode(a)
}

// registered is a model's artefact, if it is what was registered.
func (p *Pipeline) registered(ctx context.Context, record ops.Model) (artifact.Parts, error) {
	a, err := p.readArtefact(ctx, record.Artefacts)
	if err == nil && a.Hash() != record.Hash {
		err = errDamaged
	}
	return a, err
}

var errDamaged = errors.New("its bytes are not those that were registered")

func (p *Pipeline) refuseModel(ctx context.Context, m ops.Model, cause error) error {
	return p.Records.Update(ctx, func(tx store.Tx) error {
		if err := p.Ops.RefuseModel(tx, m, "its artefact cannot be read: "+firstLine(cause)); err != nil {
			return err
		}
		if _, err := advance(tx, m.SiteID, func(t *Track) { t.HasModel, t.Trained = false, 0 }); err != nil {
			return err
		}
		if err := p.Ops.Note(tx, ops.Note{CustomerID: m.CustomerID, SiteID: m.SiteID, Phase: api.PhaseOrient, Title: "Model refused",
			Description: m.ModelVersion + " cannot be read; the site is trained again", Actor: "pipeline"}); err != nil {
			return err
		}
		return tx.Enqueue(p.job(jobTrain, payload{SiteID: m.SiteID}))
	})
}

func (p *Pipeline) readArtefact(ctx context.Context, keys ops.ArtefactKeys) (artifact.Parts, error) {
	var a artifact.Parts
	for _, part := range []struct {
		key string
		to  *[]byte
	}{{keys.Model, &a.Model}, {keys.Encoders, &a.Encoders}, {keys.Config, &a.Config}} {
		b, err := p.readObjectBytes(ctx, part.key)
		if err != nil {
			return a, err
		}
		*part.to = b
	}
	return a, nil
}

func (p *Pipeline) locations(keys ops.ArtefactKeys) api.ArtifactLocations {
	return api.ArtifactLocations{Model: p.Objects.URI(keys.Model), Encoders: p.Objects.URI(keys.Encoders), Config: p.Objects.URI(keys.Config)}
}

func (p *Pipeline) readObjectBytes(ctx context.Context, key string) (b []byte, err error) {
	r, err := p.Objects.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	b, err = io.ReadAll(io.LimitReader(r, maxArtefact+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read object %s: %w", key, err)
	case len(b) > maxArtefact:
		return nil, fmt.Errorf("object %s is larger than %d MB", key, maxArtefact>>20)
	}
	return b, nil
}

// writeArtefact stores a model's three parts under keys that carry its hash,
// announced until the model is registered. A former run's that are still to be
// dropped are left alone.
func (p *Pipeline) writeArtefact(ctx context.Context, site api.Site, hash string, a artifact.Parts) (keys ops.ArtefactKeys, err error) {
	for n := range 1000 {
		folder := hash[:16]
		if n > 0 {
			folder = fmt.Sprintf("%s-%d", folder, n)
		}
		base := objects.Key("models", site.CustomerID, site.SiteID, folder)
		keys = ops.ArtefactKeys{Model: base + "/model", Encoders: base + "/encoders", Config: base + "/config"}
		free, err := p.announce(ctx, site.SiteID, keys.All()...)
		if err != nil {
			return keys, err
		}
		if !free {
			continue
		}
		for i, data := range [][]byte{a.Model, a.Encoders, a.Config} {
			if err := p.putPart(ctx, keys.All()[i], data); err != nil {
				p.dropObjects(ctx, site.SiteID, keys.All()...)
				return keys, err
			}
		}
		return keys, nil
	}
	return keys, fmt.Errorf("store the model %s of site %s: a thousand others are being stored", hash[:16], site.SiteID)
}

// putPart stores a part. One that is there already is left if it is whole, and
// written anew if it is damaged: the same data train the same model again.
func (p *Pipeline) putPart(ctx context.Context, key string, data []byte) error {
	err := p.Objects.Put(ctx, key, bytes.NewReader(data))
	if errors.Is(err, store.ErrExists) {
		there, readErr := p.readObjectBytes(ctx, key)
		if readErr == nil && bytes.Equal(there, data) {
			return nil
		}
		if errors.Is(readErr, store.ErrUnavailable) {
			return readErr // it may be whole
		}
		if err = p.Objects.Delete(ctx, key); err == nil {
			err = p.Objects.Put(ctx, key, bytes.NewReader(data))
		}
	}
	if err != nil {
		return fmt.Errorf("store object %s: %w", key, err)
	}
	return nil
}
