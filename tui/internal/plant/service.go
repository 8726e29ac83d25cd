package plant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"app.sunloop/backend/api"
)

// Service responds like the real one to the console's requests. The zero value
// of each switch is the normal case.
type Service struct {
	Plants []*Plant
	Now    func() time.Time

	mu       sync.Mutex
	requests []string // method and path, in order
	refuse   func(r *http.Request) *api.Error
	login    func(username, password string) (*api.LoginResponse, *api.Error)
	verify   func(token, code string) (*api.LoginResponse, *api.Error)
	token    string // that opens the service; empty: any
	admin    bool   // the first administrator is wanted
	uploads  int
	quota    int                 // requests that are allowed in a minute; 0: none is stated
	answered []time.Time         // of the last minute, if there is a quota
	imported func(u *api.Upload) // changes the state of an upload that is asked for; nil: nothing
}

// NewService returns a service of plants at a clock's time.
func NewService(now func() time.Time, plants ...*Plant) *Service {
	return &Service{Plants: plants, Now: now}
}

// Refuse makes requests fail for which why returns an error; nil ends that.
func (s *Service) Refuse(why func(r *http.Request) *api.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = why
}

// SignIn sets how names, passwords and codes are answered.
func (s *Service) SignIn(login func(username, password string) (*api.LoginResponse, *api.Error), verify func(token, code string) (*api.LoginResponse, *api.Error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login, s.verify = login, verify
}

// Token sets the only token that opens the service.
func (s *Service) Token(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// NeedAdmin sets whether the first administrator is missing.
func (s *Service) NeedAdmin(wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admin = wanted
}

// Imported changes the state of an upload whenever the console asks for it.
func (s *Service) Imported(change func(u *api.Upload)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.imported = change
}

// Quota sets how many requests are allowed in a minute. Responses state it as the service
// does, and further requests are refused.
func (s *Service) Quota(perMinute int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota = perMinute
}

// allow counts a request and states what is left of the quota.
func (s *Service) allow(w http.ResponseWriter) *api.Error {
	if s.quota == 0 {
		return nil
	}
	now := s.Now()
	s.answered = slices.DeleteFunc(s.answered, func(t time.Time) bool { return !now.Before(t.Add(time.Minute)) })
	refused := len(s.answered) >= s.quota
	if !refused {
		s.answered = append(s.answered, now)
	}
	reset := int(s.answered[0].Add(time.Minute).Sub(now) / time.Second)
	w.Header().Set(api.HeaderRatePolicy, fmt.Sprintf(`"users";q=%d;w=60`, s.quota))
	w.Header().Set(api.HeaderRateLimit, fmt.Sprintf(`"users";r=%d;t=%d`, s.quota-len(s.answered), reset))
	if refused {
		e := *api.ErrTooManyRequests
		e.RetryAfter = reset
		return &e
	}
	return nil
}

// Requests are method and path of every request so far.
func (s *Service) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// ServeHTTP answers.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	if e := s.allow(w); e != nil {
		s.fail(w, e)
		return
	}
	if s.refuse != nil {
		if e := s.refuse(r); e != nil {
			s.fail(w, e)
			return
		}
	}
	open := r.URL.Path == api.PathLogin || r.URL.Path == api.PathVerifyMFA || r.URL.Path == api.PathSetup
	if !open && s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token {
		s.fail(w, api.ErrTokenExpired)
		return
	}
	v, refusal := s.answer(r, body)
	if refusal != nil {
		s.fail(w, refusal)
		return
	}
	out, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := fnv.New64a()
	h.Write(out)
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", h.Sum64()))
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out)
}

func (s *Service) fail(w http.ResponseWriter, e *api.Error) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(e.RetryAfter))
	}
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(e.Body("", "req-1"))
}

// question are the fields of a request's body that choose the answer.
type question struct {
	Action   string `json:"action"`
	SiteID   string `json:"site_id"`
	Customer string `json:"customer_id"`
	AssetID  string `json:"asset_id"`
	Username string `json:"username"`
	Password string `json:"password"`
	MFAToken string `json:"mfa_token"`
	TOTPCode string `json:"totp_code"`
	OrderID  string `json:"order_id"`
	AlertID  string `json:"alert_id"`

	ScheduleID     string `json:"schedule_id"`
	BOMID          string `json:"bom_id"`
	SubscriptionID string `json:"subscription_id"`
}

func (s *Service) answer(r *http.Request, body []byte) (any, *api.Error) {
	var q question
	_ = json.Unmarshal(body, &q) // a form is no question
	if id := r.URL.Query().Get("site_id"); id != "" {
		q.SiteID = id
	}
	if id := r.URL.Query().Get("customer_id"); id != "" {
		q.Customer = id
	}
	if id, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, api.PathSites+"/"), "/kpis"); ok {
		q.SiteID = id
	}
	now := s.Now()
	switch r.URL.Path {
	case api.PathSites:
		out := api.SitesResponse{Success: true, Sites: []api.Site{}}
		for _, p := range s.Plants {
			out.Sites = append(out.Sites, p.Site())
		}
		return out, nil
	case api.PathTerminalTelemetry:
		if q.Action == api.ActionFleet && len(s.Plants) > 0 {
			fleet := s.Plants[0].Fleet(now)
			for _, p := range s.Plants[1:] {
				if p.SiteID == s.Plants[0].SiteID {
					fleet = append(fleet, p.inFleet(now))
				}
			}
			return api.FleetResponse{Success: true, Sites: fleet, Count: len(fleet)}, nil
		}
	case api.PathLogin:
		return second(s.login(q.Username, q.Password))
	case api.PathVerifyMFA:
		return second(s.verify(q.MFAToken, q.TOTPCode))
	case api.PathLogout:
		return api.Done{Success: true}, nil
	case api.PathSetup:
		if r.Method == http.MethodGet {
			return api.SetupStatus{Success: true, NeedsAdmin: s.admin}, nil
		}
		return second(s.login(q.Username, q.Password))
	case api.PathUploadTrain:
		s.uploads++
		return api.UploadAck{Status: "success", ProcessingStatus: api.UploadQueued, UploadID: "upl-way"}, nil
	case api.PathUploadInspect:
		if bytes.Contains(body, []byte("no columns")) {
			return api.InspectResponse{Success: true, Inspection: RefusedInspection()}, nil
		}
		is := Inspection(now)
		if bytes.Contains(body, []byte(`name="mapping"`)) {
			is.Warnings, is.RunnersUp = nil, nil
		}
		return api.InspectResponse{Success: true, Inspection: is}, nil
	case api.PathNotifications:
		if len(s.Plants) > 0 {
			return s.Plants[0].notifications(now, body)
		}
	case api.PathUploads:
		if q.SiteID == "" {
			var all []api.Upload
			for _, p := range s.Plants {
				all = append(all, p.Uploads(now)...)
			}
			return api.UploadsResponse{Success: true, Uploads: all}, nil
		}
	}
	if id, ok := strings.CutPrefix(r.URL.Path, api.PathUploads+"/"); ok {
		for _, p := range s.Plants {
			for _, u := range p.Uploads(now) {
				if u.UploadID == id {
					u.CustomerID = p.customer()
					if s.imported != nil {
						s.imported(&u)
					}
					return api.UploadResponse{Success: true, Upload: u}, nil
				}
			}
		}
		return nil, api.ErrNotFound
	}
	if q.Customer == "" && q.SiteID != "" {
		named := 0
		for _, p := range s.Plants {
			if p.SiteID == q.SiteID {
				named++
			}
		}
		if named > 1 {
			return nil, api.ErrAmbiguousSite
		}
	}
	for _, p := range s.Plants {
		if q.Customer != "" && p.customer() != q.Customer {
			continue
		}
		if q.SiteID == "" && q.OrderID+q.AlertID+q.ScheduleID+q.BOMID+q.SubscriptionID != "" || p.SiteID == q.SiteID {
			return p.answer(r, now, q)
		}
	}
	return nil, api.ErrSiteNotFound
}

func second(v *api.LoginResponse, e *api.Error) (any, *api.Error) { return v, e }

func (p *Plant) answer(r *http.Request, now time.Time, q question) (any, *api.Error) {
	if answer, refusal, ok := p.work(r, now, q); ok {
		return answer, refusal
	}
	if answer, refusal, ok := p.alerts(r, now, q); ok {
		return answer, refusal
	}
	if answer, ok := p.report(r, now, q); ok {
		return answer, nil
	}
	switch r.URL.Path {
	case api.PathAssets:
		return api.AssetsResponse{Success: true, Assets: p.Assets()}, nil
	case api.PathSiteData:
		from, err1 := api.ParseTime(r.URL.Query().Get("start"), time.UTC)
		to, err2 := api.ParseTime(r.URL.Query().Get("end"), time.UTC)
		if err1 != nil || err2 != nil {
			return nil, api.InvalidParameter("start", "not a time")
		}
		to.Time = to.Add(time.Second) // the end is inclusive
		if r.URL.Query().Get("resolution") == api.ResolutionDaily {
			return api.SiteRecordsResponse{Records: p.Daily(from.Time, to.Time, now)}, nil
		}
		if r.URL.Query().Get("resolution") == api.ResolutionHour {
			return api.SiteRecordsResponse{Records: p.Hours(from.Time, to.Time, now)}, nil
		}
		if r.URL.Query().Get("resolution") == api.Resolution5Min && p.Step < 5*time.Minute {
			return api.SiteRecordsResponse{Records: p.Means(from.Time, to.Time, now)}, nil
		}
		return api.SiteRecordsResponse{Records: p.Records(from.Time, to.Time, now)}, nil
	case api.PathTerminalTelemetry:
		return api.SiteSummaryResponse{Success: true, Summary: p.Summary(now)}, nil
	case api.PathForecast:
		return p.Forecast(now), nil
	case api.PathOODA:
		return api.FindingsResponse{Success: true, MLEnhancedActivities: p.Findings(now)}, nil
	case api.PathModels:
		return api.ModelsResponse{Success: true, ModelMetrics: p.Models(now)}, nil
	case api.PathUploads:
		return api.UploadsResponse{Success: true, Uploads: p.Uploads(now)}, nil
	case api.PathActivities:
		return api.ActivitiesResponse{Success: true, Activities: p.Activities(now)}, nil
	case api.PathShift:
		return p.Shift(now), nil
	case api.PathDetect:
		n := 1
		return api.DetectResponse{Success: true, AnomaliesDetected: &n}, nil
	}
	return nil, api.ErrNotFound
}
