package lambda

import "testing"

// The name of a function may be an ARN, with a version; other paths are none of functions.
func TestFunctionOf(t *testing.T) {
	for path, want := range map[string]string{
		"/2015-03-31/functions/terminalApi/invocations":                                                       "terminalApi",
		"/2015-03-31/functions/terminalApi%3Aprod/invocations":                                                "terminalApi",
		"/2015-03-31/functions/arn%3Aaws%3Alambda%3Aaf-south-1%3A1234%3Afunction%3AdataIngestion/invocations": "dataIngestion",
		"/2015-03-31/functions/arn:aws:lambda:af-south-1:1234:function:dataIngestion:$LATEST/invocations":     "dataIngestion",
		"/2015-03-31/functions//invocations":                                                                  "",
		"/2015-03-31/functions/a%2Fb/invocations":                                                             "",
		"/2015-03-31/functions/terminalApi":                                                                   "",
		"/2015-03-31/functions/terminalApi/invocations/x":                                                     "",
		"/2014-11-13/functions/terminalApi/invoke-async/":                                                     "",
		"/terminal/assets": "",
	} {
		if got, ok := functionOf(path); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", path, got, ok, want)
		}
	}
}

// The path of an event stays below /terminal.
func TestTerminalPath(t *testing.T) {
	for path, want := range map[string]string{
		"/assets": "/terminal/assets", "assets": "/terminal/assets", "/terminal/assets": "/terminal/assets", "/terminal/../keys": "/terminal/keys", "/../../uploads": "/terminal/uploads",
		"/terminal//../../uploads": "/terminal/uploads", "": "/terminal/", "/terminal/terminal/../../x": "/terminal/x", "/terminal../x": "/terminal/x",
	} {
		if got := (&event{Path: path}).terminalPath(); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// FuzzRequest reads any payload of any function: a request has a path of the API and a JSON
// object as its body.
func FuzzRequest(f *testing.F) {
	f.Add("terminalApi", []byte(`{"httpMethod":"POST","path":"/assets","body":"{\"action\":\"list\"}"}`))
	f.Add("terminalApi", []byte(`{"requestContext":{"http":{"method":"POST"}},"rawPath":"/x","body":"e30=","isBase64Encoded":true}`))
	f.Add("interpolationService", []byte(`{"customer_id":"c","dataset_key":"k"}`))
	f.Add("dataIngestion", []byte(`{"data_type":"nowcast"}`))
	f.Fuzz(func(t *testing.T, function string, payload []byte) {
		r, failed := requestOf(function, payload)
		if failed != nil {
			return
		}
		if len(r.path) < 2 || r.path[0] != '/' || len(r.body) == 0 {
			t.Errorf("%s %q: %q %q", function, payload, r.path, r.body)
		}
	})
}
