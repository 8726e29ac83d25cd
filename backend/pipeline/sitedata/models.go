package sitedata

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/interpolate"
	"app.sunloop/engine/learn/artifact"
	"app.sunloop/engine/learn/neural"
	"app.sunloop/internal/display"
)

// ModelType is the registry's type of the models that forecast.
const ModelType = api.ModelForecasting

// maxArtefact bounds what is read of an object in memory, in bytes: many times the
// size of a site's model.
const maxArtefact = 64 << 20

// ModelCache keeps decoded production models by site.
type ModelCache struct {
	mu     sync.Mutex
	bySite map[string]LoadedModel
}

// LoadedModel is a decoded model with its record.
type LoadedModel struct {
	Record    model.Model
	Model     *forecast.Model
	LearnedTo time.Time // up to when it has seen actuals
}

// maxCached is the number of cached models, of about a megabyte each. Other models
// are decoded for each forecast, in a millisecond or two.
const maxCached = 64

// get returns the cached model of a site, if it is the one with that hash and has
// learned from the same days.
func (c *ModelCache) get(siteID, hash string, learned time.Time) (LoadedModel, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.bySite[siteID]
	return l, ok && l.Record.Hash == hash && l.LearnedTo.Equal(learned)
}

// Put caches a model, in place of any other if the cache is full.
func (c *ModelCache) Put(siteID string, l LoadedModel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bySite == nil {
		c.bySite = map[string]LoadedModel{}
	}
	if len(c.bySite) >= maxCached {
		for other := range c.bySite { // any one: they are cheap to read again
			delete(c.bySite, other)
			break
		}
	}
	c.bySite[siteID] = l
}

// Model returns the site's production model, or [store.ErrNotFound] if it has
// none. A model whose artefact is damaged is removed from the registry, and a
// training of the site is enqueued.
func (d *Data) Model(ctx context.Context, siteID string) (LoadedModel, error) {
	record, err := d.Domain.Models.InProduction(ctx, siteID, ModelType)
	if err != nil {
		return LoadedModel{}, err
	}
	// Another replica may have let it learn.
	c, err := d.Calibration(ctx, record)
	if err != nil {
		return LoadedModel{}, err
	}
	if l, ok := d.ModelCache.get(siteID, record.Hash, c.To); ok {
		l.Record = record
		return l, nil
	}
	m, err := d.DecodeModel(ctx, record)
	if ctx.Err() != nil {
		return LoadedModel{}, ctx.Err()
	}
	if errors.Is(err, store.ErrUnavailable) {
		return LoadedModel{}, err // which says nothing of the model
	}
	if err != nil {
		d.Logger.Error("model unreadable, site will be trained again", "site", siteID, "model", record.ModelVersion, "error", err)
		return LoadedModel{}, errors.Join(store.ErrNotFound, d.rejectModel(ctx, record, err))
	}
	d.Calibrate(record, c, m)
	l := LoadedModel{record, m, c.To}
	d.ModelCache.Put(siteID, l)
	return l, nil
}

// DecodeModel reads a registered forecasting model. An artefact that has changed
// since its registration is an error.
func (d *Data) DecodeModel(ctx context.Context, record model.Model) (*forecast.Model, error) {
	a, err := d.artefact(ctx, record)
	if err != nil {
		return nil, err
	}
	return forecast.Decode(a)
}

// artefact reads a model's artefact and verifies its hash.
func (d *Data) artefact(ctx context.Context, record model.Model) (artifact.Parts, error) {
	a, err := d.ReadArtefact(ctx, record.Artefacts)
	if err == nil && a.Hash() != record.Hash {
		err = errDamaged
	}
	return a, err
}

var errDamaged = errors.New("its bytes are not those that were registered")

// rejectModel removes a model from the registry and enqueues a training.
func (d *Data) rejectModel(ctx context.Context, m model.Model, cause error) error {
	return d.Records.Update(ctx, func(tx store.Tx) error {
		if err := d.Domain.Models.Reject(tx, m, "its artefact cannot be read: "+FirstLine(cause)); err != nil {
			return err
		}
		if _, err := UpdateState(tx, m.SiteID, func(t *State) { t.HasModel, t.Trained = false, 0 }); err != nil {
			return err
		}
		if err := d.Domain.Activities.Record(tx, activity.Record{CustomerID: m.CustomerID, SiteID: m.SiteID, Phase: api.PhaseOrient, Title: "Model refused",
			Description: m.ModelVersion + " cannot be read; the site is trained again", Actor: Actor}); err != nil {
			return err
		}
		return tx.Enqueue(d.NewJob(JobTrain, Payload{SiteID: m.SiteID}))
	})
}

// ReadArtefact reads the three parts of an artefact.
func (d *Data) ReadArtefact(ctx context.Context, keys model.ArtefactKeys) (artifact.Parts, error) {
	var a artifact.Parts
	for _, part := range []struct {
		key string
		to  *[]byte
	}{{keys.Model, &a.Model}, {keys.Encoders, &a.Encoders}, {keys.Config, &a.Config}} {
		b, err := d.ReadObject(ctx, part.key)
		if err != nil {
			return a, err
		}
		*part.to = b
	}
	return a, nil
}

// ArtefactLocations returns the URIs of an artefact's parts.
func (d *Data) ArtefactLocations(keys model.ArtefactKeys) api.ArtifactLocations {
	return api.ArtifactLocations{Model: d.Objects.URI(keys.Model), Encoders: d.Objects.URI(keys.Encoders), Config: d.Objects.URI(keys.Config)}
}

// ReadObject reads an object into memory; one larger than 64 MiB is an error.
func (d *Data) ReadObject(ctx context.Context, key string) (b []byte, err error) {
	r, err := d.Objects.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	b, err = io.ReadAll(io.LimitReader(r, maxArtefact+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read object %s: %w", key, err)
	case len(b) > maxArtefact:
		return nil, fmt.Errorf("object %s is larger than %s", key, display.Bytes(maxArtefact))
	}
	return b, nil
}

// WriteArtefact stores a model's three parts under keys with its hash. The objects
// are announced until the model's registration confirms them. Keys that another
// run has announced are left to it.
func (d *Data) WriteArtefact(ctx context.Context, site api.Site, hash string, a artifact.Parts) (keys model.ArtefactKeys, err error) {
	for n := range 1000 {
		folder := hash[:16]
		if n > 0 {
			folder = fmt.Sprintf("%s-%d", folder, n)
		}
		base := objects.Key("models", site.CustomerID, site.SiteID, folder)
		keys = model.ArtefactKeys{Model: base + "/model", Encoders: base + "/encoders", Config: base + "/config"}
		free, err := d.AnnounceObjects(ctx, site.SiteID, keys.All()...)
		if err != nil {
			return keys, err
		}
		if !free {
			continue
		}
		for i, data := range [][]byte{a.Model, a.Encoders, a.Config} {
			if err := d.PutPart(ctx, keys.All()[i], data); err != nil {
				d.DropObjects(ctx, site.SiteID, keys.All()...)
				return keys, err
			}
		}
		return keys, nil
	}
	return keys, fmt.Errorf("store the model %s of site %s: a thousand others are being stored", hash[:16], site.SiteID)
}

// PutPart stores an object that may exist already: an equal one stays, a damaged
// one is replaced. The same data train the same model.
func (d *Data) PutPart(ctx context.Context, key string, data []byte) error {
	err := d.Objects.Put(ctx, key, bytes.NewReader(data))
	if errors.Is(err, store.ErrExists) {
		there, readErr := d.ReadObject(ctx, key)
		if readErr == nil && bytes.Equal(there, data) {
			return nil
		}
		if errors.Is(readErr, store.ErrUnavailable) {
			return readErr // it may be whole
		}
		if err = d.Objects.Delete(ctx, key); err == nil {
			err = d.Objects.Put(ctx, key, bytes.NewReader(data))
		}
	}
	if err != nil {
		return fmt.Errorf("store object %s: %w", key, err)
	}
	return nil
}

// DecodeFiller reads a registered model that fills gaps. An artefact that has
// changed since its registration is an error.
func (d *Data) DecodeFiller(ctx context.Context, m model.Model) (*interpolate.Model, error) {
	a, err := d.artefact(ctx, m)
	if err != nil {
		return nil, err
	}
	return interpolate.Decode(a)
}

// LossCurve returns the losses of each epoch, to four digits, for display.
func LossCurve(epochs []neural.Losses) []api.EpochLoss {
	short := func(x float64) float64 {
		x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
		return x
	}
	var out []api.EpochLoss
	for _, e := range epochs {
		if math.IsNaN(e.Train+e.Validation) || math.IsInf(e.Train+e.Validation, 0) {
			break // JSON has no such number, and nothing was kept from there on
		}
		out = append(out, api.EpochLoss{TrainLoss: short(e.Train), ValidationLoss: short(e.Validation)})
	}
	return out
}
