package objects

import (
	"path"
	"strings"
	"testing"
)

// FuzzElsewhere asserts for any allowed prefix, URL and customer: the key that
// is read is under the prefix with the customer's part in it, has no part that
// leads up, and another customer's part is inaccessible.
func FuzzElsewhere(f *testing.F) {
	for _, prefix := range []string{"s3://bucket/in/{customer_id}", "file:///srv/{customer_id}/in", "s3://bucket", "file:///srv/gateway", "s3://{customer_id}", "file:///", "s3://b/../x", "s3:b", "file://localhost/a%2fb"} {
		f.Add(prefix, "s3://bucket/in/ana/a.csv", "ana")
		f.Add(prefix, "file:///srv/ana/in/../../etc/passwd", "..")
		f.Add(prefix, "file:///srv/gateway/./a", "a/b")
	}
	f.Fuzz(func(t *testing.T, prefix, uri, customer string) {
		p, err := parsePlace(prefix)
		if err != nil {
			return
		}
		if p.scheme != "s3" && p.scheme != "file" || p.root == "" || p.root == "/" {
			t.Fatalf("%q is allowed as %q %q", prefix, p.scheme, p.root)
		}
		key, ok := p.key(uri, customer)
		if !ok {
			return
		}
		own := strings.ReplaceAll(p.prefix, customerMark, Clean(customer))
		if "/"+key != path.Clean("/"+key) || own != "" && key != own && !strings.HasPrefix(key, own+"/") {
			t.Fatalf("%q of %q reads %q, not of %q", uri, customer, key, own)
		}
		if p.scheme+"://"+p.root+"/"+key != uri {
			t.Fatalf("%q reads %s %s %s", uri, p.scheme, p.root, key)
		}
	})
}
