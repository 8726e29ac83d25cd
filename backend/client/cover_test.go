package client_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// TestEveryOperationHasACall calls every method of the client, and finds each
// operation of the service asked for.
func TestEveryOperationHasACall(t *testing.T) {
	asked := operations(t, func(c *client.Client) {
		v := reflect.ValueOf(c)
		for i := range v.NumMethod() {
			call(v.Type().Method(i).Name, v.Method(i))
		}
		// Calls whose action is a field of their request.
		ctx := context.Background()
		for _, action := range []string{api.ActionAcknowledge, api.ActionShelve, api.ActionUnshelve, api.ActionSuppress, api.ActionUnsuppress} {
			_, _ = c.MoveAlert(ctx, api.AlertsRequest{Action: action, AlertID: "x"})
		}
		for _, action := range []string{api.ActionConfirm, api.ActionComplete, api.ActionCancel} {
			_, _ = c.MoveSchedule(ctx, api.ScheduleRequest{Action: action, ScheduleID: "x"})
		}
		for _, action := range []string{api.ActionAssign, api.ActionStart, api.ActionHold, api.ActionResume, api.ActionComplete, api.ActionCancel, api.ActionReopen} {
			_, _ = c.MoveOrder(ctx, api.OrderRequest{Action: action, OrderID: "x"})
		}
		_, _ = c.Import(ctx, api.UploadRequest{Kind: api.UploadNowcast})
		_, _ = c.UploadToSite(ctx, api.UploadRequest{Kind: api.UploadNowcast}, strings.NewReader("a,b\n"), nil)
		_, _ = c.KPIs(ctx, api.KPIQuery{SiteID: "x"})
		_, _ = c.WriteTelemetry(ctx, api.WriteQuery{SiteID: "x"}, nil)
		// Calls by their operation alone.
		_, _ = client.Call(ctx, c, api.StartRun, api.RunsRequest{SiteID: "x", Kind: api.RunTrain})
		_, _ = client.Call(ctx, c, api.ListRuns, api.RunsRequest{SiteID: "x"})
		_, _ = client.Call(ctx, c, api.ListShift, api.ShiftRequest{SiteID: "x"})
		_, _ = client.Call(ctx, c, api.AddShiftNote, api.ShiftRequest{SiteID: "x"})
		_, _ = client.Call(ctx, c, api.HandOver, api.ShiftRequest{SiteID: "x"})
		_, _ = client.Call(ctx, c, api.MarkSeen, api.ShiftRequest{SiteID: "x"})
		_, _ = client.Call(ctx, c, api.ListAvailability, api.AvailabilityRequest{SiteID: "x"})
		_, _ = client.Call(ctx, c, api.SetAvailability, api.AvailabilityRequest{SiteID: "x"})
		_, _ = client.Call(ctx, c, api.RevokeAvailability, api.AvailabilityRequest{SiteID: "x"})
		_, _ = client.Call(ctx, c, api.ListAvailabilityChanges, api.AvailabilityRequest{SiteID: "x"})
		_, _ = client.Call(ctx, c, api.CreateUploadSession, api.UploadSessionRequest{SiteID: "x", CustomerID: "x", Size: 1})
		_, _ = client.Call(ctx, c, api.GetUploadSession, api.UploadSessionQuery{ID: "x"})
		_, _ = client.Call(ctx, c, api.FinishUploadSession, api.UploadSessionMoveRequest{ID: "x", SHA256: "x"})
		for _, e := range []api.Endpoint[api.NotificationsRequest, api.NotificationsResponse]{api.GetNotificationConfig, api.SetNotificationItem, api.RemoveNotificationItem,
			api.ApplyNotificationConfig, api.ImportAbsences, api.TestNotification, api.RetryNotification, api.ListNotifications, api.ExplainNotification,
			api.SimulateNotification, api.ListOnCall, api.ExportOnCall} {
			_, _ = client.Call(ctx, c, e, api.NotificationsRequest{SiteID: "x", AlertID: "x"})
		}
		for _, e := range []api.Endpoint[api.BulkRequest, api.BulkResponse]{api.AddAssets, api.AcknowledgeAlerts, api.CreateSchedules} {
			_, _ = client.Call(ctx, c, e, api.BulkRequest{SiteID: "x"})
		}
		for _, e := range []api.Endpoint[api.SubscriptionsRequest, api.SubscriptionsResponse]{api.SubscribeEvents, api.ListEventSubscriptions, api.UnsubscribeEvents, api.PauseEventSubscription,
			api.ResumeEventSubscription, api.RotateEventSubscription, api.PreviewEvent, api.TestEventSubscription, api.ListEventDeliveries, api.ReplayEventDeliveries} {
			_, _ = client.Call(ctx, c, e, api.SubscriptionsRequest{SubscriptionID: "x"})
		}
		for _, e := range []api.Endpoint[api.GatewaysRequest, api.DiscoveryResponse]{api.DiscoverDevices, api.GetDiscovery, api.StopDiscovery, api.AddDevices} {
			_, _ = client.Call(ctx, c, e, api.GatewaysRequest{SiteID: "x", Targets: []string{"127.0.0.1"}})
		}
		_, _ = client.Call(ctx, c, api.CancelUploadSession, api.UploadSessionMoveRequest{ID: "x"})
	})
	// Other forms of calls that there are, and what is made for browsers.
	left := map[string]bool{"detect list": true, "diagnose list": true, "bom build": true, "openapi": true, "docs": true}
	for _, r := range api.Routes() {
		list := asked[r.Name+" "] || asked[r.Name+" "+api.ActionList]
		for _, o := range r.Operations {
			name := strings.TrimSpace(r.Name + " " + o.Action)
			if left[name] || asked[r.Name+" "+o.Action] || list && (o.Action == "" || o.Action == api.ActionList) {
				continue
			}
			t.Errorf("no call asks for %s", name)
		}
	}
}

// call calls a method with values that are good enough to be sent.
func call(name string, method reflect.Value) {
	if name == "Close" || name == "SetCredential" {
		return
	}
	var args []reflect.Value
	for i := range method.Type().NumIn() {
		in := method.Type().In(i)
		arg := reflect.New(in).Elem()
		switch {
		case in == reflect.TypeFor[context.Context]():
			arg = reflect.ValueOf(context.Background())
		case in == reflect.TypeFor[io.Reader]():
			arg = reflect.ValueOf(strings.NewReader("a,b\n"))
		case in.Kind() == reflect.String:
			arg.SetString("x")
		case in.Kind() == reflect.Int:
			arg.SetInt(1)
		}
		args = append(args, arg)
	}
	if method.Type().IsVariadic() {
		method.CallSlice(args)
	} else {
		method.Call(args)
	}
}

// operations are the routes and actions that a client asks for, as "name action".
func operations(t *testing.T, f func(*client.Client)) map[string]bool {
	t.Helper()
	var mu sync.Mutex
	asked := map[string]bool{}
	mux := http.NewServeMux()
	for _, r := range api.Routes() {
		mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, q *http.Request) {
			var body struct {
				Action string `json:"action"`
			}
			text, _ := io.ReadAll(q.Body)
			_ = json.Unmarshal(text, &body)
			if len(r.Operations) == 1 {
				body.Action = r.Operations[0].Action
			}
			mu.Lock()
			defer mu.Unlock()
			asked[r.Name+" "+body.Action] = true
			writeJSON(w, http.StatusOK, map[string]any{"success": true})
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		t.Errorf("%s %s is no route", q.Method, q.URL.Path)
		w.WriteHeader(http.StatusNotFound)
	})
	c := client.New(client.Options{Transport: client.InProcess(mux), Credential: "key"})
	defer c.Close()
	f(c)
	return asked
}
