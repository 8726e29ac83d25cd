package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/httpapi"
)

type httpapiDeps = httpapi.Deps

// anySite finds every site.
type anySite struct{ register }

type register = httpapi.Sites

func (anySite) SitesNamed(_ context.Context, id string) ([]api.Site, error) {
	return []api.Site{{SiteID: id, CustomerID: ownCustomer, Timezone: "UTC"}}, nil
}

func (anySite) Site(_ context.Context, _ api.Scope, id string) (api.Site, error) {
	return api.Site{SiteID: id, CustomerID: ownCustomer, Timezone: "UTC"}, nil
}

// ids are what a request of the matrix is about.
type ids struct{ customer, site, asset string }

// sample request of an operation, and what absent ids are answered with.
type request struct {
	query, body string // with {customer}, {site}, {asset} and {n}, a number
	form        bool
	own         int  // status for own ids; 0: 200
	absent      int  // status for absent ids
	byCustomer  bool // names a customer alone, and a key for some sites may name any
	ofCustomer  bool // a caller of all sites of the customer learns that one does not exist
	whole       bool // changes what is the customer's, which a key for some sites may not
}

// requests has a row for each operation with a permission: a route without
// one fails the test.
var requests = map[string]request{
	"upload-train":               {form: true, absent: 200},
	"upload-nowcast":             {form: true, absent: 200},
	"v1-upload-train":            {form: true, absent: 200},
	"v1-upload-nowcast":          {form: true, absent: 200},
	"uploads":                    {query: "customer_id={customer}&site_id={site}", absent: 200},
	"upload":                     {absent: 404}, // its ids are in the path, see path
	"upload-inspect":             {form: true, absent: 200},
	"upload-move revert":         {body: `{"action":"revert"}`, absent: 404},
	"upload-move cancel":         {body: `{"action":"cancel"}`, absent: 404},
	"kpi-rollup":                 {query: "site_id={site}", own: 404, absent: 404},
	"maintenance-signals":        {query: "site_id={site}&severity=high", own: 404, absent: 404},
	"forecast-snapshot":          {query: "site_id={site}", absent: 404},
	"maintenance-schedule":       {query: "site_id={site}", own: 404, absent: 404},
	"snapshot":                   {query: "site_id={site}&kind=maintenance-schedule", own: 404, absent: 404},
	"forecast":                   {query: "customer_id={customer}&site_id={site}", absent: 404},
	"energy-forecast":            {body: `{"site_id":"{site}","device_id":"{asset}"}`, absent: 404},
	"data-period":                {query: "site_id={site}&asset_id={asset}", absent: 404},
	"inverter":                   {query: "asset_id={asset}&site_id={site}&start=2025-10-01&end=2025-10-02", absent: 404},
	"site-data":                  {query: "site_id={site}&start=2025-10-01&end=2025-10-02", absent: 404},
	"stream":                     {query: "customer_id={customer}&site_id={site}&follow=false", absent: 404},
	"latest":                     {query: "site_id={site}", absent: 404},
	"assets add":                 {body: `{"action":"add","asset_id":"NEW-{asset}-{n}","name":"n","type":"t","capacity_kw":1,"location":"l","customer_id":"{customer}","site_id":"{site}"}`, absent: 404, ofCustomer: true},
	"assets set":                 {body: `{"action":"set","asset_id":"{asset}","name":"n"}`, absent: 404},
	"assets install":             {body: `{"action":"install","asset_id":"{asset}","component":{"oem":"o","model":"m","serial":"{n}"}}`, absent: 404},
	"assets remove":              {body: `{"action":"remove","asset_id":"{asset}","former_serial":"none"}`, own: 404, absent: 404},
	"assets list":                {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"assets get":                 {body: `{"action":"get","asset_id":"{asset}"}`, absent: 404},
	"sites set":                  {body: `{"action":"set","site":{"customer_id":"{customer}","site_id":"{site}","name":"n","timezone":"UTC"}}`, absent: 200},
	"upload-sessions":            {body: `{"customer_id":"{customer}","site_id":"{site}","size":1}`, absent: 200},
	"upload-session":             {own: 403, absent: 404},
	"upload-session-move finish": {body: `{"action":"finish"}`, own: 403, absent: 404},
	"upload-session-move cancel": {body: `{"action":"cancel"}`, own: 403, absent: 404},
	"upload-part":                {form: true, own: 403, absent: 404},
	"assets merge":               {body: `{"action":"merge","asset_id":"{asset}","from_asset_id":"other","dry_run":true}`, absent: 404},
	"sites add":                  {body: `{"action":"add","site":{"customer_id":"{customer}","site_id":"{site}","name":"n","timezone":"UTC"}}`, own: 409, absent: 200},
	"sites rename":               {body: `{"action":"rename","site_id":"{site}","name":"n"}`, absent: 404},
	"sites archive":              {body: `{"action":"archive","site_id":"{site}"}`, absent: 404},
	"sites unarchive":            {body: `{"action":"unarchive","site_id":"{site}"}`, absent: 404},
	"sites zone":                 {body: `{"action":"zone","site_id":"{site}","timezone":"Asia/Tokyo","dry_run":true}`, absent: 404},
	"sites remove":               {body: `{"action":"remove","site_id":"{site}","dry_run":true}`, absent: 404},
	"sites list":                 {body: `{"action":"list","customer_id":"{customer}"}`, absent: 200, byCustomer: true},
	"sites get":                  {body: `{"action":"get","site_id":"{site}"}`, absent: 404},
	"stored-forecasts ":          {body: `{"customer_id":"{customer}","site_id":"{site}"}`, own: 404, absent: 404},
	"stored-forecasts list":      {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, own: 404, absent: 404},
	"stored-forecasts accuracy":  {body: `{"action":"accuracy","customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"interpolations ":            {body: `{"customer_id":"{customer}","site_id":"{site}"}`, own: 404, absent: 404},
	"interpolations list":        {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, own: 404, absent: 404},
	"interpolations gaps":        {body: `{"action":"gaps","customer_id":"{customer}","site_id":"{site}"}`, own: 404, absent: 404},
	"ooda ":                      {body: `{"customer_id":"{customer}","site_id":"{site}"}`, own: 404, absent: 404},
	"ooda list":                  {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, own: 404, absent: 404},
	"ooda history":               {body: `{"action":"history","customer_id":"{customer}","site_id":"{site}"}`, absent: 403},
	"ml-models ":                 {body: `{"customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"ml-models list":             {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"ml-models history":          {body: `{"action":"history","customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"ml-models evaluate":         {body: `{"action":"evaluate","site_id":"{site}"}`, own: 404, absent: 404},
	"ml-models promote":          {body: `{"action":"promote","site_id":"{site}","reason":"because I say so"}`, own: 404, absent: 404},
	"ml-models rollback":         {body: `{"action":"rollback","site_id":"{site}","reason":"because I say so"}`, own: 409, absent: 404},
	"detect run":                 {body: `{"action":"run","asset_id":"{asset}"}`, absent: 404},
	"detect list":                {body: `{"action":"list","asset_id":"{asset}"}`, absent: 404},
	"detections ":                {body: `{"asset_id":"{asset}","site_id":"{site}"}`, absent: 404},
	"detections list":            {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"diagnose run":               {body: `{"action":"run","asset_id":"{asset}"}`, absent: 404},
	"diagnose list":              {body: `{"action":"list","asset_id":"{asset}"}`, absent: 404},
	"diagnostics ":               {body: `{"asset_id":"{asset}","site_id":"{site}"}`, absent: 404},
	"diagnostics list":           {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"issues ":                    {body: `{"customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"issues list":                {body: `{"action":"list","site_id":"{site}","asset_id":"{asset}"}`, absent: 404},
	"issues create":              {body: `{"action":"create","site":"{site}","component":"roof","issue_type":"t{n}","description":"d"}`, absent: 404},
	"issues acknowledge":         {body: `{"action":"acknowledge","site_id":"{site}","issue_id":"iss_0"}`, own: 404, absent: 404},
	"issues resolve":             {body: `{"action":"resolve","site_id":"{site}","issue_id":"iss_0","reason":"done"}`, own: 404, absent: 404},
	"runs ":                      {body: `{"site_id":"{site}"}`, absent: 404},
	"runs list":                  {body: `{"action":"list","site_id":"{site}"}`, absent: 404},
	"runs start":                 {body: `{"action":"start","site_id":"{site}","kind":"detect"}`, absent: 404},
	"schedule create":            {body: `{"action":"create","asset_id":"{asset}","maintenance_type":"preventive","scheduled_date":"2026-01-01","priority":"low","reason":"r"}`, absent: 404},
	"schedule list":              {body: `{"action":"list","asset_id":"{asset}"}`, absent: 404},
	"schedule propose":           {body: `{"action":"propose","asset_id":"{asset}","maintenance_type":"corrective","estimated_duration_hours":2}`, own: 404, absent: 404},
	"schedule get":               {body: `{"action":"get","site_id":"{site}","schedule_id":"sch_0"}`, own: 404, absent: 404},
	"schedule confirm":           {body: `{"action":"confirm","site_id":"{site}","schedule_id":"sch_0"}`, own: 404, absent: 404},
	"schedule complete":          {body: `{"action":"complete","site_id":"{site}","schedule_id":"sch_0"}`, own: 404, absent: 404},
	"schedule cancel":            {body: `{"action":"cancel","site_id":"{site}","schedule_id":"sch_0","reason":"r"}`, own: 404, absent: 404},
	"bom generate":               {body: `{"action":"generate","asset_id":"{asset}","maintenance_type":"preventive"}`, absent: 404},
	"bom build":                  {body: `{"action":"build","customer_id":"{customer}","site_id":"{site}","asset_id":"{asset}"}`, absent: 404},
	"bom list":                   {body: `{"action":"list","asset_id":"{asset}"}`, absent: 404},
	"bom get":                    {body: `{"action":"get","site_id":"{site}","bom_id":"bom_0"}`, own: 404, absent: 404},
	"parts list":                 {body: `{"action":"list","site_id":"{site}"}`, absent: 404},
	"parts adjust":               {body: `{"action":"adjust","site_id":"{site}","part_number":"FAN-AX-24V","change":1,"reason":"bought"}`, absent: 404, whole: true},
	"order create":               {body: `{"action":"create","asset_id":"{asset}","schedule_id":"sch_0","bom_id":"bom_0","assigned_technician":"t","estimated_duration_hours":1,"priority":"low"}`, own: 404, absent: 404},
	"order list":                 {body: `{"action":"list","asset_id":"{asset}"}`, absent: 404},
	"order get":                  {body: `{"action":"get","site_id":"{site}","order_id":"ord_0"}`, own: 404, absent: 404},
	"order assign":               {body: `{"action":"assign","site_id":"{site}","order_id":"ord_0","assigned_technician":"t"}`, own: 404, absent: 404},
	"order start":                {body: `{"action":"start","site_id":"{site}","order_id":"ord_0"}`, own: 404, absent: 404},
	"order hold":                 {body: `{"action":"hold","site_id":"{site}","order_id":"ord_0","hold_reason":"parts"}`, own: 404, absent: 404},
	"order resume":               {body: `{"action":"resume","site_id":"{site}","order_id":"ord_0"}`, own: 404, absent: 404},
	"order complete":             {body: `{"action":"complete","site_id":"{site}","order_id":"ord_0","completion_notes":"n"}`, own: 404, absent: 404},
	"order cancel":               {body: `{"action":"cancel","site_id":"{site}","order_id":"ord_0","reason":"r"}`, own: 404, absent: 404},
	"order reopen":               {body: `{"action":"reopen","site_id":"{site}","order_id":"ord_0","reason":"r"}`, own: 404, absent: 404},
	"notifications get":          {body: `{"action":"get","customer_id":"{customer}"}`, absent: 200, whole: true},
	"notifications set":          {body: `{"action":"set","customer_id":"{customer}","channel":{"channel_id":"mail","kind":"email"}}`, absent: 200, whole: true},
	"notifications remove":       {body: `{"action":"remove","customer_id":"{customer}","kind":"route","item_id":"none"}`, own: 404, absent: 404, whole: true, ofCustomer: true},
	"notifications apply":        {body: `{"action":"apply","customer_id":"{customer}","dry_run":true,"configuration":{}}`, absent: 200, whole: true},
	"notifications absences":     {body: `{"action":"absences","customer_id":"{customer}","rotation_id":"none","person_id":"anna","calendar":"x"}`, own: 404, absent: 404, whole: true, ofCustomer: true},
	"notifications test":         {body: `{"action":"test","customer_id":"{customer}","channel_id":"none"}`, own: 404, absent: 404, whole: true, ofCustomer: true},
	"notifications retry":        {body: `{"action":"retry","customer_id":"{customer}","delivery_id":"ntd_0"}`, own: 404, absent: 404, whole: true},
	"notifications list":         {body: `{"action":"list","customer_id":"{customer}"}`, absent: 200, whole: true},
	"notifications explain":      {body: `{"action":"explain","site_id":"{site}","alert_id":"alt_0"}`, own: 404, absent: 404},
	"notifications simulate":     {body: `{"action":"simulate","site_id":"{site}","family":"inverter_outage","priority":"major"}`, absent: 404},
	"notifications on-call":      {body: `{"action":"on-call","customer_id":"{customer}"}`, absent: 200, whole: true},
	"notifications calendar":     {body: `{"action":"calendar","customer_id":"{customer}","rotation_id":"none"}`, own: 404, absent: 404, whole: true, ofCustomer: true},
	"track subscribe":            {body: `{"action":"subscribe","site_id":"{site}","order_id":"ord_0","callback_url":"https://example.org/hook"}`, own: 404, absent: 404},
	"track list":                 {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"track unsubscribe":          {body: `{"action":"unsubscribe","site_id":"{site}","subscription_id":"sub_0"}`, own: 404, absent: 404},
	"track pause":                {body: `{"action":"pause","site_id":"{site}","subscription_id":"sub_0"}`, own: 404, absent: 404},
	"track resume":               {body: `{"action":"resume","site_id":"{site}","subscription_id":"sub_0"}`, own: 404, absent: 404},
	"track rotate":               {body: `{"action":"rotate","site_id":"{site}","subscription_id":"sub_0"}`, own: 404, absent: 404},
	"track deliveries":           {body: `{"action":"deliveries","site_id":"{site}","order_id":"ord_0"}`, own: 404, absent: 404},
	"track replay":               {body: `{"action":"replay","site_id":"{site}","delivery_id":"whd_0"}`, own: 404, absent: 404},
	"subscriptions subscribe":    {body: `{"action":"subscribe","customer_id":"{customer}","site_id":"{site}","callback_url":"https://example.org/hook","events":["*"]}`, absent: 404},
	"subscriptions list":         {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"subscriptions unsubscribe":  {body: `{"action":"unsubscribe","site_id":"{site}","subscription_id":"evs_0"}`, own: 404, absent: 404},
	"subscriptions pause":        {body: `{"action":"pause","site_id":"{site}","subscription_id":"evs_0"}`, own: 404, absent: 404},
	"subscriptions resume":       {body: `{"action":"resume","site_id":"{site}","subscription_id":"evs_0"}`, own: 404, absent: 404},
	"subscriptions rotate":       {body: `{"action":"rotate","site_id":"{site}","subscription_id":"evs_0"}`, own: 404, absent: 404},
	"subscriptions test":         {body: `{"action":"test","site_id":"{site}","subscription_id":"evs_0"}`, own: 404, absent: 404},
	"subscriptions preview":      {body: `{"action":"preview","site_id":"{site}","event":"order.created"}`, absent: 404},
	"subscriptions deliveries":   {body: `{"action":"deliveries","site_id":"{site}","subscription_id":"evs_0"}`, own: 404, absent: 404},
	"subscriptions replay":       {body: `{"action":"replay","site_id":"{site}","delivery_id":"evd_0"}`, own: 404, absent: 404},
	"alert-period":               {query: "site_id={site}", absent: 404},
	"terminal-alerts":            {query: "terminal_device_id=TERM-{site}&site_id={site}&start=2025-10-01&end=2025-10-02", absent: 404},
	"site-alerts":                {query: "site_id={site}&start=2025-10-01&end=2025-10-02", absent: 404},
	"alerts ":                    {body: `{"customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"alerts list":                {body: `{"action":"list","site_id":"{site}","asset_id":"{asset}"}`, absent: 404},
	"alerts health":              {body: `{"action":"health","site_id":"{site}","asset_id":"{asset}"}`, absent: 404},
	"alerts get":                 {body: `{"action":"get","site_id":"{site}","alert_id":"alt_0"}`, own: 404, absent: 404},
	"alerts acknowledge":         {body: `{"action":"acknowledge","site_id":"{site}","alert_id":"alt_0"}`, own: 404, absent: 404},
	"alerts shelve":              {body: `{"action":"shelve","site_id":"{site}","alert_id":"alt_0","reason":"r","minutes":60}`, own: 404, absent: 404},
	"alerts unshelve":            {body: `{"action":"unshelve","site_id":"{site}","alert_id":"alt_0"}`, own: 404, absent: 404},
	"alerts suppress":            {body: `{"action":"suppress","site_id":"{site}","alert_id":"alt_0","reason":"r"}`, own: 404, absent: 404},
	"alerts unsuppress":          {body: `{"action":"unsuppress","site_id":"{site}","alert_id":"alt_0"}`, own: 404, absent: 404},
	"bulk add-assets":            {body: `{"action":"add-assets","site_id":"{site}","assets":[{"asset_id":"BULK-{asset}-{n}","name":"n","type":"t","capacity_kw":1,"location":"l"}]}`, absent: 404},
	"bulk acknowledge-alerts":    {body: `{"action":"acknowledge-alerts","site_id":"{site}","alerts":[{"alert_id":"a0"}]}`, absent: 404},
	"bulk create-schedules":      {body: `{"action":"create-schedules","site_id":"{site}","schedules":[{"asset_id":"{asset}","maintenance_type":"preventive","scheduled_date":"2026-01-01","priority":"low","reason":"r"}]}`, absent: 404},
	"telemetry-write":            {query: "site_id={site}&gateway_id=g&epoch=e", absent: 404},
	"gateways ":                  {body: `{"customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"gateways list":              {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"gateways sources":           {body: `{"action":"sources","site_id":"{site}"}`, absent: 404},
	"gateways discover":          {body: `{"action":"discover","site_id":"{site}","targets":["127.0.0.1"]}`, own: 409, absent: 404},
	"gateways discovery":         {body: `{"action":"discovery","site_id":"{site}"}`, own: 409, absent: 404},
	"gateways stop_discovery":    {body: `{"action":"stop_discovery","site_id":"{site}"}`, own: 409, absent: 404},
	"gateways add_devices":       {body: `{"action":"add_devices","site_id":"{site}"}`, own: 409, absent: 404},
	"gateways invite":            {body: `{"action":"invite","site_id":"{site}","name":"n"}`, absent: 404},
	"gateways rotate":            {body: `{"action":"rotate","customer_id":"{customer}"}`, own: 403, absent: 403, byCustomer: true},
	"users ":                     {body: `{"customer_id":"{customer}"}`, absent: 200, byCustomer: true},
	"users list":                 {body: `{"action":"list","customer_id":"{customer}"}`, absent: 200, byCustomer: true},
	"users get":                  {body: `{"action":"get","customer_id":"{customer}","user_id":"usr_0"}`, own: 404, absent: 404, byCustomer: true},
	"users add":                  {body: `{"action":"add","username":"new{n}@{customer}","password":"correct horse","role_id":"role_analyst","customer_ids":["{customer}"],"site_ids":["{site}"]}`, absent: 200},
	"users set":                  {body: `{"action":"set","customer_id":"{customer}","user_id":"usr_0","active":false}`, own: 404, absent: 404, byCustomer: true},
	"users reset-password":       {body: `{"action":"reset-password","customer_id":"{customer}","user_id":"usr_0","password":"correct horse"}`, own: 404, absent: 404, byCustomer: true},
	"users reset-mfa":            {body: `{"action":"reset-mfa","customer_id":"{customer}","user_id":"usr_0"}`, own: 404, absent: 404, byCustomer: true},
	"users unlink":               {body: `{"action":"unlink","customer_id":"{customer}","user_id":"usr_0"}`, own: 404, absent: 404, byCustomer: true},
	"users unlock":               {body: `{"action":"unlock","customer_id":"{customer}","user_id":"usr_0"}`, own: 404, absent: 404, byCustomer: true},
	"users delete":               {body: `{"action":"delete","customer_id":"{customer}","user_id":"usr_0"}`, own: 404, absent: 404, byCustomer: true},
	"keys ":                      {body: `{"customer_id":"{customer}"}`, absent: 200, byCustomer: true},
	"keys list":                  {body: `{"action":"list","customer_id":"{customer}"}`, absent: 200, byCustomer: true},
	"keys get":                   {body: `{"action":"get","customer_id":"{customer}","api_key_id":"key_0"}`, own: 404, absent: 404, byCustomer: true},
	"keys create":                {body: `{"action":"create","name":"k","customer_ids":["{customer}"],"permitted_site_ids":["{site}"]}`, absent: 200},
	"keys rotate":                {body: `{"action":"rotate","customer_id":"{customer}","api_key_id":"key_0"}`, own: 404, absent: 404, byCustomer: true},
	"keys revoke":                {body: `{"action":"revoke","customer_id":"{customer}","api_key_id":"key_0"}`, own: 404, absent: 404, byCustomer: true},
	"audit ":                     {body: `{"customer_id":"{customer}","site_id":"{site}"}`, absent: 200},
	"audit list":                 {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, absent: 200},
	"site-kpis":                  {absent: 404}, // its site is in the path
	"availability ":              {body: `{"site_id":"{site}"}`, absent: 404},
	"availability list":          {body: `{"action":"list","site_id":"{site}","stretches":true}`, absent: 404},
	"availability set":           {body: `{"action":"set","site_id":"{site}","from":"2025-09-30T08:00:00Z","to":"2025-09-30T09:00:00Z","category":"suspended","reason":"r"}`, absent: 404},
	"availability revoke":        {body: `{"action":"revoke","site_id":"{site}","change_id":"avc_0","reason":"r"}`, own: 404, absent: 404},
	"availability history":       {body: `{"action":"history","site_id":"{site}"}`, absent: 404},
	"shift ":                     {body: `{"site_id":"{site}"}`, absent: 404},
	"shift list":                 {body: `{"action":"list","site_id":"{site}"}`, absent: 404},
	"shift note":                 {body: `{"action":"note","site_id":"{site}","text":"t"}`, absent: 404},
	"shift hand-over":            {body: `{"action":"hand-over","site_id":"{site}","text":"t"}`, absent: 404},
	"shift seen":                 {body: `{"action":"seen","site_id":"{site}","entry_id":"shf_0"}`, own: 404, absent: 404},
	"log ":                       {body: `{}`, own: 403, absent: 403},
	"log list":                   {body: `{"action":"list"}`, own: 403, absent: 403},
	"site-summary fleet":         {body: `{"action":"fleet","customer_id":"{customer}"}`, absent: 200, byCustomer: true},
	"site-summary site-summary":  {body: `{"action":"site-summary","site_id":"{site}"}`, absent: 404},
	"activities ":                {body: `{"customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"nowcast ":                   {body: `{"customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
	"nowcast list":               {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}","time_range":"latest"}`, absent: 404},
	"activities list":            {body: `{"action":"list","customer_id":"{customer}","site_id":"{site}"}`, absent: 404},
}

// TestScopeMatrix sends every operation of the route table as every role with
// own, foreign and absent ids: no caller exceeds its role, no record of
// another customer is returned.
func TestScopeMatrix(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate, d.UserRate = 1_000_000, 1_000_000 })
	w.measure(foreignSite, foreignAsset, "Europe/Berlin", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 288)
	for _, owner := range []ids{{ownCustomer, ownSite, ""}, {foreignCustomer, foreignSite, ""}} {
		if _, err := w.uploads.Import(context.Background(), api.Unlimited("test"), api.UploadRequest{CustomerID: owner.customer, SiteID: owner.site, Kind: api.UploadTrain}); err != nil {
			t.Fatal(err)
		}
	}
	subjects := map[string]ids{
		"own":     {ownCustomer, ownSite, ownAsset},
		"foreign": {foreignCustomer, foreignSite, foreignAsset},
		"absent":  {ownCustomer, "Nowhere", "INV-0"},
	}
	uploadIDs := map[string]string{"own": "upl_1", "foreign": "upl_2", "absent": "upl_0"}
	seen := map[string]bool{}
	n := 0
	for _, role := range auth.Roles() {
		callers := map[string]string{
			"key":  w.key(role, auth.NewKey{Role: role, Customers: []string{ownCustomer}}),
			"site": w.key("site "+role, auth.NewKey{Role: role, Sites: []string{ownSite}}),
		}
		if slices.Contains(auth.UserRoles(), role) {
			callers["user"] = w.user(role, role, ownCustomer)
		}
		for _, route := range api.Routes() {
			for _, op := range route.Operations {
				if op.Permission == api.PermissionNone {
					continue
				}
				name := route.Name
				if len(route.Operations) > 1 || op.Action != "" {
					name += " " + op.Action
				}
				r, ok := requests[name]
				if !ok {
					t.Errorf("operation %q has no row in the matrix", name)
					continue
				}
				seen[name] = true
				for caller, credential := range callers {
					for whose, id := range subjects {
						n++
						if whose == "absent" { // what one request makes is not there for the next
							id.site += fmt.Sprint(n)
						}
						names := r.form || strings.Contains(r.query+r.body, "{site}") || strings.Contains(route.Path, "{site_id}")
						want := 200
						switch {
						case !auth.May(role, op.Permission) && (op.Own == api.PermissionNone || !auth.May(role, op.Own)):
							want = 403
						case !auth.May(role, op.Permission) && (whose != "own" || op == api.GetUpload.Operation):
							want = 403 // a site that is there, and files that the caller sent
						case name == "gateways rotate" && role == api.RoleCollector && (caller == "site" || whose != "foreign"):
							want = 200 // the caller's own key
						case r.whole && caller == "site":
							want = 403
						case r.byCustomer && caller == "site":
							want = max(want, r.own) // what is permitted alone is looked at
						case whose == "foreign":
							want = 403
						case whose == "absent" && caller == "site" && names:
							want = 403 // a key for one site learns nothing of other ids
						case whose == "absent":
							want = r.absent
						case r.own != 0:
							want = r.own
						}
						if want == 404 && !(r.ofCustomer && caller != "site") && (whose == "absent" || absentIDs.MatchString(r.body)) {
							want = 403 // a limited caller learns nothing of ids outside of its scope
						}
						status, body := w.send(route, r, id, uploadIDs[whose], credential, n)
						if status != want {
							t.Errorf("%s, %s as %s, %s ids: status %d, want %d: %s", name, role, caller, whose, status, want, body)
						}
						if strings.Contains(body, "Secret") || whose != "foreign" && strings.Contains(body, foreignAsset+`"`) {
							t.Errorf("%s, %s as %s, %s ids: leaks %s", name, role, caller, whose, body)
						}
					}
				}
			}
		}
	}
	for name := range requests {
		if !seen[name] {
			t.Errorf("row %q of the matrix is of no route", name)
		}
	}
}

// TestUnlimitedCallersGet404 sends every operation with ids that do not exist
// as an administrator of all customers and sites, who gets the specification's
// messages.
func TestUnlimitedCallersGet404(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1_000_000 })
	n, unknown := 0, 0
	for _, route := range api.Routes() {
		for _, op := range route.Operations {
			name := route.Name
			if len(route.Operations) > 1 || op.Action != "" {
				name += " " + op.Action
			}
			r, ok := requests[name]
			if !ok || r.absent != http.StatusNotFound {
				continue
			}
			n++
			got := w.sent(route, r, ids{ownCustomer, "Nowhere", "INV-0"}, "upl_0", w.keys["admin"], n)
			var e api.ErrorBody
			if err := json.Unmarshal(got.Body.Bytes(), &e); err != nil || got.Code != http.StatusNotFound || !strings.HasSuffix(strings.ToLower(e.Error), "not found") && !strings.HasPrefix(e.Error, "No ") {
				t.Errorf("%s: HTTP %d %s", name, got.Code, got.Body)
			}
			if strings.HasSuffix(e.Error, " not found") {
				unknown++
			}
		}
	}
	if n < 60 || unknown < 50 {
		t.Errorf("%d operations, of which %d name an unknown id: the table of routes has more", n, unknown)
	}
}

func (w *world) send(route *api.Route, r request, id ids, upload, credential string, n int) (int, string) {
	got := w.sent(route, r, id, upload, credential, n)
	return got.Code, got.Body.String()
}

// sumOfForm is the SHA-256 of the file in the forms of these tests.
const sumOfForm = "522c65ad7976c91a8c3d610896907eed65299517fc11ed71df655430503c9d79"

func (w *world) sent(route *api.Route, r request, id ids, upload, credential string, n int) *httptest.ResponseRecorder {
	target := strings.NewReplacer("{id}", upload, "{site_id}", url.PathEscape(id.site)).Replace(route.Path)
	if r.query != "" {
		target += "?" + strings.NewReplacer("{customer}", url.QueryEscape(id.customer), "{site}", url.QueryEscape(id.site), "{asset}", url.QueryEscape(id.asset)).Replace(r.query)
	}
	body, contentType := "", "application/json"
	switch {
	case r.form:
		body, contentType = formFor(route, "customer_id", id.customer, "site_id", id.site, "region", "r", "location", "l", "offset", "0", "sha256", sumOfForm, "file", "timestamp,power\n2025-10-01T00:00:00Z,1\n")
	case r.body != "":
		body = strings.NewReplacer("{customer}", id.customer, "{site}", id.site, "{asset}", id.asset, "{n}", fmt.Sprint(n)).Replace(r.body)
	}
	return w.ask(route.Method, target, body, "Authorization", "Bearer "+credential, "Content-Type", contentType)
}

// formFor is formOf with the parts that the route has.
func formFor(route *api.Route, namesAndValues ...string) (body, contentType string) {
	var parts []string
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		if route.CheckPart(namesAndValues[i]) == nil {
			parts = append(parts, namesAndValues[i], namesAndValues[i+1])
		}
	}
	return formOf(parts...)
}

func TestOperationsOfPublicRoutesNeedNoPermission(t *testing.T) {
	for _, r := range api.Routes() {
		for _, op := range r.Operations {
			if (r.Credential == api.CredentialNone || r.Credential == api.CredentialUser) != (op.Permission == api.PermissionNone) {
				t.Errorf("%s %q: credential %s, permission %q", r.Name, op.Action, r.Credential, op.Permission)
			}
			if r.Credential != api.CredentialNone && r.Method == http.MethodGet && !op.Cacheable && r.Path != api.PathStream { // a stream of events has no end
				t.Errorf("%s is a GET without a tag", r.Name)
			}
		}
	}
}
