package keymap

// InSettings is the scope of the settings screen.
const InSettings Scope = "the settings"

// The actions of the console's general part.
const (
	Settings     Action = "settings"
	ResetSetting Action = "reset-setting"
	Presets      Action = "presets"
	Silence      Action = "silence"
	CopyShown    Action = "copy-shown"
	ExportJSON   Action = "export-json"
	Columns      Action = "columns"
	ScrollLeft   Action = "scroll-left"
	ScrollRight  Action = "scroll-right"
)
