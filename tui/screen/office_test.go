package screen

import (
	"time"

	"app.sunloop/backend/api"
)

// userRecords are a user of each state, by name.
func userRecords() []api.UserRecord {
	at := func(days int) api.Time { return api.At(noon.AddDate(0, 0, days)) }
	return []api.UserRecord{
		{UserID: "usr_01JA", Username: "anna", RoleID: api.RoleAdmin, CustomerIDs: []string{api.Every}, SiteIDs: []string{api.Every}, Active: true, MFAEnrolled: true, RecoveryCodes: 7, CreatedAt: at(-300), LastLoginAt: api.At(noon.Add(-2 * time.Hour)),
			SSHPublicKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE00 anna@gateway"}},
		{UserID: "usr_01JB", Username: "bob", RoleID: api.RoleOperator, CustomerIDs: []string{"acme"}, SiteIDs: []string{"Sibaya"}, Active: false, CreatedAt: at(-200), LastLoginAt: at(-90)},
		{UserID: "usr_01JC", Username: "carla", RoleID: api.RoleTechnician, CustomerIDs: []string{"acme", "north"}, SiteIDs: []string{api.Every}, Active: true, MFAEnrolled: true, RecoveryCodes: 2, CreatedAt: at(-100), LastLoginAt: at(-1), LockedUntil: api.At(noon.Add(11 * time.Minute))},
		{UserID: "usr_01JD", Username: "dora", RoleID: api.RoleAnalyst, CustomerIDs: []string{"acme"}, SiteIDs: []string{api.Every}, Active: true, Issuer: "https://login.example.com", CreatedAt: at(-2)},
	}
}
