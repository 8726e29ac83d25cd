package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestDropConfig checks what sections of folders, servers and mailboxes may say.
func TestDropConfig(t *testing.T) {
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const site = "[site]\nid = \"roof\"\ntimezone = \"Europe/Vienna\"\nlatitude = 48.2\nlongitude = 16.4\n"
	folder := "[[folder]]\nname = \"exports\"\npath = \"/srv/exports\"\n"
	server := "[[sftp]]\nname = \"portal\"\naddress = \"sftp.example.com:22\"\nuser = \"plant\"\nhost_keys = [\"SHA256:" + strings.Repeat("a", 43) + "\"]\npassword_file = \"" + password + "\"\n"
	mail := "[[imap]]\nname = \"reports\"\naddress = \"imaps://imap.example.com\"\nuser = \"plant\"\npassword_file = \"" + password + "\"\n"
	c, err := Parse([]byte(site + folder + server + mail))
	if err != nil {
		t.Fatal(err)
	}
	f, s, m := c.Folders[0].source(c.Site), c.SFTP[0].source(c.Site), c.IMAP[0].source(c.Site)
	if !f.Move || f.Settle != 10*time.Second || f.Poll != 10*time.Second || f.Request.Kind != api.UploadNowcast || f.Request.Timezone != "Europe/Vienna" || f.Request.Location != "48.2,16.4" ||
		s.Move || s.Poll != 5*time.Minute || s.Settle != 30*time.Second || m.Poll != 5*time.Minute {
		t.Errorf("%+v\n%+v\n%+v", f, s, m)
	}
	for text, want := range map[string]string{
		folder + folder:                                      `name "exports": two sources have it`,
		"[[folder]]\npath = \"/a\"\n":                        "folder: name: required",
		folder + "pattern = [\"[\"]\n":                       `pattern "["`,
		folder + "after = \"delete\"\n":                      "move or keep",
		folder + "settle = 5\n":                              "settle: invalid value 5ns: from 1s to 1h",
		folder + "poll = \"1ms\"\n":                          "from 1s to 24h",
		folder + "timezone = \"Mars\"\n":                     "timezone",
		folder + "recursive = true\n":                        "unknown key folder.recursive",
		strings.Replace(folder, "/srv", "", 1):               "",
		strings.Replace(folder, "/srv/", "", 1):              "must be an absolute path",
		strings.Replace(server, ":22", "", 1):                "must be a host and a port",
		strings.Replace(server, "SHA256:", "", 1):            "invalid fingerprint",
		server + "key_file = \"/x\"\n":                       "one of them is required",
		strings.Replace(server, password, "/no/such", 1):     "password_file",
		strings.Replace(mail, "imaps://", "https://", 1):     "must be imaps://host:993",
		strings.Replace(mail, "imaps://", "imaps://a:b@", 1): "must be imaps://host:993",
		mail + "senders = [\"logger\"]\n":                    "neither an address nor a domain",
		mail + "ca_file = \"" + password + "\"\n":            "no certificate in PEM",
	} {
		_, err := Parse([]byte(site + text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
	}
	for path, allowed := range map[string]bool{dir: false, filepath.Join(dir, "objects"): false, filepath.Join(dir, "..", "elsewhere"): true} {
		c := Config{Folders: []Folder{{FileSource: FileSource{Name: "a"}, Path: path}}}
		if err := c.CheckFolders(dir); (err == nil) != allowed {
			t.Errorf("%s: %v", path, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	c = Config{Folders: []Folder{{FileSource: FileSource{Name: "a"}, Path: link}}}
	if err := c.CheckFolders(dir); err == nil {
		t.Error("a link to the data folder is watched")
	}
	c.Folders[0].Path, c.Folders[0].Subfolders = filepath.Dir(dir), true
	if err := c.CheckFolders(dir); err == nil {
		t.Error("a folder around the data folder is watched with its subfolders")
	}
}
