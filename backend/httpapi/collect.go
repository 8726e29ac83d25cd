package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/store"
	pointformats "app.sunloop/engine/points"
)

// Collectors stores what collectors and gateways send.
type Collectors interface {
	// Collect stores points of a site durably, and the number of the batch if it has one.
	// A batch that is stored already is no error; another one of its number is a conflict.
	Collect(ctx context.Context, site api.Site, keyID string, w *api.WriteQuery, frames []store.AssetFrame) (api.WriteResponse, error)
	// Gateways lists the senders of numbered batches.
	Gateways(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.GatewayRecord, string, error)
}

// Sources reads devices of one site.
type Sources interface {
	SiteID() string
	// Sources returns the devices, and of one of them the values as read last.
	Sources(device string) (api.SourcesResponse, error)
}

// Discoverer searches for devices of its site, one search at a time, and adds them to what
// it reads. It is a [Sources] that can. Errors are those of the API.
type Discoverer interface {
	Discover(r *api.GatewaysRequest) (api.DiscoveryResponse, error)
	Discovery() (api.DiscoveryResponse, error)
	StopDiscovery() (api.DiscoveryResponse, error)
	AddDevices(assets []string) (api.DiscoveryResponse, error)
}

// discoverer is what searches for devices of the site of a request.
func (s *server) discoverer(c *caller) (Discoverer, error) {
	if s.Sources == nil {
		return nil, api.ErrNoDiscovery
	}
	from := s.Sources()
	if from == nil || from.SiteID() != c.site.SiteID {
		return nil, api.ErrNoDiscovery
	}
	d, ok := from.(Discoverer)
	if !ok {
		return nil, api.ErrNoDiscovery
	}
	return d, nil
}

func (s *server) discoveryHandlers() {
	for e, do := range map[*api.Endpoint[api.GatewaysRequest, api.DiscoveryResponse]]func(Discoverer, *api.GatewaysRequest) (api.DiscoveryResponse, error){
		&api.DiscoverDevices: Discoverer.Discover,
		&api.GetDiscovery:    func(d Discoverer, _ *api.GatewaysRequest) (api.DiscoveryResponse, error) { return d.Discovery() },
		&api.StopDiscovery:   func(d Discoverer, _ *api.GatewaysRequest) (api.DiscoveryResponse, error) { return d.StopDiscovery() },
		&api.AddDevices: func(d Discoverer, r *api.GatewaysRequest) (api.DiscoveryResponse, error) {
			return d.AddDevices(r.AssetIDs)
		},
	} {
		handle(s, *e, func(_ context.Context, c *caller, r *api.GatewaysRequest) (api.DiscoveryResponse, error) {
			d, err := s.discoverer(c)
			if err != nil {
				return api.DiscoveryResponse{}, err
			}
			return do(d, r)
		})
	}
}

// sources answers with the devices of a site that this process reads.
func (s *server) sources(_ context.Context, c *caller, r *api.SourcesRequest) (api.SourcesResponse, error) {
	var from Sources
	if s.Sources != nil {
		from = s.Sources()
	}
	if from == nil || from.SiteID() != c.site.SiteID {
		if r.Device != "" {
			return api.SourcesResponse{}, api.ErrSourceNotFound.With("device", r.Device)
		}
		return api.SourcesResponse{Success: true, SiteID: c.site.SiteID, Sources: []api.SourceDevice{}}, nil
	}
	return from.Sources(r.Device)
}

func (s *server) collectHandlers() {
	handle(s, api.ListSources, s.sources)
	s.discoveryHandlers()
	handle(s, api.WriteTelemetry, s.writeTelemetry)
	handle(s, api.ListGateways, func(ctx context.Context, c *caller, r *api.GatewaysRequest) (api.GatewaysResponse, error) {
		list, next, err := s.Collectors.Gateways(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, Page: r.Page})
		return api.GatewaysResponse{Success: true, Gateways: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.InviteGateway, func(ctx context.Context, c *caller, r *api.GatewaysRequest) (api.GatewaysResponse, error) {
		minutes := api.DefaultJoinMinutes
		if r.LifetimeMinutes != nil {
			minutes = *r.LifetimeMinutes
		}
		code, expires, err := s.Auth.As(c.scope).Invite(ctx, auth.Invitation{Name: r.Name, CustomerID: c.site.CustomerID, SiteID: c.site.SiteID, Lifetime: time.Duration(minutes) * time.Minute, By: c.Name})
		return api.GatewaysResponse{Success: true, Message: "The code is shown only now and works once", Code: code, ExpiresAt: api.At(expires)}, err
	})
	handle(s, api.RotateGatewayKey, func(ctx context.Context, c *caller, _ *api.GatewaysRequest) (api.GatewaysResponse, error) {
		if c.Kind != auth.KindKey || c.Role != api.RoleCollector {
			return api.GatewaysResponse{}, api.ErrForbidden.With("reason", "only a gateway replaces its own key")
		}
		k, err := s.Auth.As(c.scope).RotateKey(ctx, c.ID, auth.Rotation{Overlap: api.DefaultOverlap, By: c.Name})
		if err == nil {
			c.audit.change(k.Before.Record(), k.After.Record(), k.Before.Customers...)
		}
		return api.GatewaysResponse{Success: true, Message: "The key is shown only now; the former one ends at " + api.At(k.After.ExpiresAt).String(), APIKey: k.Plain, APIKeyID: k.Key.ID}, err
	})
	handle(s, api.JoinGateway, s.joinGateway)
}

func (s *server) joinGateway(ctx context.Context, c *caller, r *api.JoinRequest) (api.JoinResponse, error) {
	plain, k, err := s.Auth.Join(ctx, r.Code)
	if err != nil {
		return api.JoinResponse{}, err
	}
	c.audit.change(nil, k.Record(), k.Customers...)
	site, err := s.Sites.Site(ctx, k.Scope(), k.Sites[0])
	if err != nil {
		return api.JoinResponse{}, err
	}
	return api.JoinResponse{Success: true, APIKey: plain, APIKeyID: k.ID, Name: k.Name, CustomerID: site.CustomerID, SiteID: site.SiteID, Timezone: site.Timezone}, nil
}

// precisions are the units of times of line protocol.
var precisions = map[string]time.Duration{"": time.Nanosecond, "ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second}

// pointMemory is an estimate of the memory of the points of a request, in addition to its
// body.
const pointMemory = 32 * api.MaxWritePoints

func (s *server) writeTelemetry(ctx context.Context, c *caller, q *api.WriteQuery) (api.WriteResponse, error) {
	in := c.request
	kind, err := in.mediaType(api.WriteTelemetry.Route)
	if err != nil {
		return api.WriteResponse{}, err
	}
	body, err := in.rawBody(kind)
	if err != nil {
		return api.WriteResponse{}, err
	}
	sum := sha256.Sum256(body)
	switch {
	case q.SHA256 != "" && !strings.EqualFold(q.SHA256, hex.EncodeToString(sum[:])):
		return api.WriteResponse{}, api.InvalidParameter("sha256", "it is not that of the body, which was changed on the way: send it again")
	case q.GatewayID != "" && q.Sequence == 0 && len(body) > 0:
		return api.WriteResponse{}, api.MissingParameter("sequence")
	}
	q.SHA256 = strings.ToLower(q.SHA256)
	var batch pointformats.Batch
	var invalid []api.InvalidPoint
	wrong := 0
	if len(body) > 0 || q.GatewayID == "" {
		if err := in.claim.grow(pointMemory); err != nil {
			return api.WriteResponse{}, err
		}
		o := pointformats.Options{Now: s.Now(), AssetTag: q.AssetTag, Precision: precisions[q.Precision], SkipUnknown: q.Unknown == api.UnknownIgnore}
		if q.Invalid == api.InvalidSkip {
			o.Skip = func(e pointformats.Error) {
				if wrong++; len(invalid) < api.MaxInvalidPoints {
					invalid = append(invalid, api.InvalidPoint{Field: e.Field, Reason: e.Reason})
				}
			}
		}
		batch, err = readPoints(kind, body, o)
		if err != nil {
			return api.WriteResponse{}, err
		}
	}
	frames := make([]store.AssetFrame, len(batch.Units))
	for i, u := range batch.Units {
		frames[i] = store.AssetFrame(u)
	}
	r, err := s.Collectors.Collect(ctx, c.site, c.ID, q, frames)
	if err != nil {
		return api.WriteResponse{}, err
	}
	r.Invalid += wrong
	r.InvalidPoints = append(invalid, r.InvalidPoints...)
	r.InvalidPoints = r.InvalidPoints[:min(len(r.InvalidPoints), api.MaxInvalidPoints)]
	if r.Ignored = batch.Ignored; len(r.CreatedAssets) > 0 {
		s.lookups.invalidate()
		c.audit.change(nil, map[string]any{"created_assets": r.CreatedAssets[:min(len(r.CreatedAssets), maxNotedAssets)], "count": len(r.CreatedAssets)}, c.site.CustomerID)
	}
	c.points = r.Points
	return r, nil
}

// maxNotedAssets is the most new units that a record of the audit trail names.
const maxNotedAssets = 100

// readPoints decodes a body. The error names the point.
func readPoints(kind string, body []byte, o pointformats.Options) (b pointformats.Batch, err error) {
	read := map[string]func([]byte, pointformats.Options) (pointformats.Batch, error){api.MediaJSON: pointformats.JSON, api.MediaLine: pointformats.Line, api.MediaRemoteWrite: pointformats.RemoteWrite}[kind]
	b, err = read(body, o)
	var wrong *pointformats.Error
	if errors.As(err, &wrong) {
		return b, api.InvalidField(cmp.Or(wrong.Field, "body"), wrong.Reason)
	}
	return b, err
}
