package ingest_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
)

// formatNow is after all files of these tests.
var formatNow = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// sunny returns the power in W at a quarter of an hour of a clear day.
func sunny(quarter int) float64 {
	h := float64(quarter) / 4
	if h < 5 || h > 19 {
		return 0
	}
	return math.Round(50000*math.Sin((h-5)/14*math.Pi)) / 10
}

// quarters returns the time of a quarter of an hour from 1 June 2025.
func quarters(quarter int) time.Time {
	return time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(quarter) * 15 * time.Minute)
}

// plainCSV returns a file of one unit: quarters from..to of a plant that produces scale times sunny.
func plainCSV(from, to int, scale float64) string {
	var b strings.Builder
	b.WriteString("time,power (W)\n")
	for q := from; q < to; q++ {
		fmt.Fprintf(&b, "%s,%.1f\n", quarters(q).Format("2006-01-02 15:04"), scale*sunny(q%96))
	}
	return b.String()
}

func zipped(t *testing.T, files ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func gzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// wantFile is what a file contains: the units and the energy of each in kWh, as the power held for a step.
type wantFile struct {
	units  []string
	kwh    []float64
	rows   int
	step   time.Duration
	first  string
	decide string // part of a decision or warning
}

// checkFile reads a file and compares it with what it contains.
func checkFile(t *testing.T, data []byte, o ingest.Options, want wantFile) *ingest.Result {
	t.Helper()
	o.Now = formatNow
	res, err := ingest.Read(bytes.NewReader(data), o)
	if err != nil {
		t.Fatal(err)
	}
	var units []string
	rows := 0
	for i, a := range res.Assets {
		if err := a.Frame.Check(); err != nil {
			t.Error(err)
		}
		units = append(units, a.Name)
		rows += a.Times.Stored
		sum := 0.0
		for _, v := range a.Frame.Values(series.PowerKW) {
			if !math.IsNaN(v) {
				sum += v * want.step.Hours()
			}
		}
		if i < len(want.kwh) && math.Abs(sum-want.kwh[i]) > 0.02 {
			t.Errorf("%s has %.3f kWh, want %.3f", a.Name, sum, want.kwh[i])
		}
	}
	if !slices.Equal(units, want.units) || rows != want.rows || res.Rows.Stored != rows {
		t.Errorf("%d rows of %q (counted %d), want %d of %q", rows, units, res.Rows.Stored, want.rows, want.units)
	}
	if first := res.First.Format("2006-01-02T15:04:05Z"); first != want.first {
		t.Errorf("first time %s, want %s", first, want.first)
	}
	if want.decide != "" && !slices.ContainsFunc(append(slices.Clone(res.Decisions), res.Warnings...), func(d ingest.Decision) bool { return strings.Contains(d.Text, want.decide) }) {
		t.Errorf("nothing says %q: %v %v", want.decide, res.Decisions, res.Warnings)
	}
	if t.Failed() {
		t.Logf("decisions %v\nwarnings %v", res.Decisions, res.Warnings)
	}
	return res
}

// refused reads a file that is to be refused with a part of the message.
func refused(t *testing.T, data []byte, kind ingest.Kind, part string) {
	t.Helper()
	_, err := ingest.Read(bytes.NewReader(data), ingest.Options{Now: formatNow, MaxBytes: 256 << 10})
	var r *ingest.Refusal
	if !errors.As(err, &r) || r.Kind != kind || !strings.Contains(r.Error(), part) {
		t.Errorf("got %v, want %s with %q", err, kind, part)
	}
}

// dayKWh returns the energy of a day of sunny.
func dayKWh() float64 {
	sum := 0.0
	for q := range 96 {
		sum += sunny(q) / 4000
	}
	return sum
}

func TestCompressed(t *testing.T) {
	plain := []byte(plainCSV(0, 96, 1))
	want := wantFile{units: []string{""}, kwh: []float64{dayKWh()}, rows: 96, step: 15 * time.Minute, first: "2025-06-01T00:00:00Z"}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	// printf 'time,power (W)\n2025-06-01 10:00,1000\n2025-06-01 10:15,2000\n' | bzip2, by bzip2 1.0.8
	bz, err := base64.StdEncoding.DecodeString(bzipped)
	if err != nil {
		t.Fatal(err)
	}
	packed := func(how string) wantFile { w := want; w.decide = how; return w }
	checkFile(t, gzipped(t, plain), ingest.Options{}, packed("gzip"))
	checkFile(t, enc.EncodeAll(plain, nil), ingest.Options{}, packed("zstd"))
	checkFile(t, gzipped(t, zipped(t, "a.csv", string(plain))), ingest.Options{}, packed("gzip, then zip"))
	checkFile(t, bz, ingest.Options{}, wantFile{units: []string{""}, kwh: []float64{0.75}, rows: 2, step: 15 * time.Minute, first: "2025-06-01T10:00:00Z", decide: "bzip2"})

	for name, cut := range map[string][]byte{"gzip": gzipped(t, plain), "zstd": enc.EncodeAll(plain, nil), "bzip2": bz} {
		refused(t, cut[:len(cut)-12], ingest.NotText, "the "+name+" file is")
	}
	refused(t, gzipped(t, nil), ingest.NoDataRows, "the gzip file is empty")
}

const bzipped = "QlpoOTFBWSZTWbWig0wAABzbgAAQQGZzEACAAiLUgCAAVEINAaaMmCVTaaEaPaoYTqY5KQ/agYnwKyRIkMOK5VoHKWGBfa0z69t4F3JFOFCQtaKDTA=="

// TestArchives: files of an archive with the same header are one series if they follow each other, and units if they do not.
func TestArchives(t *testing.T) {
	days := zipped(t, "data/2025-06-02.csv", plainCSV(96, 192, 1), "data/2025-06-01.csv", plainCSV(0, 96, 1), "__MACOSX/x", "x", "readme.txt", "Export of the portal\n")
	checkFile(t, days, ingest.Options{Asset: "roof"}, wantFile{units: []string{"roof"}, kwh: []float64{2 * dayKWh()}, rows: 192, step: 15 * time.Minute, first: "2025-06-01T00:00:00Z", decide: "2 tables with the same header"})
	units := zipped(t, "east.csv", plainCSV(0, 96, 1), "west.csv", plainCSV(0, 96, 2))
	checkFile(t, units, ingest.Options{Asset: "roof"}, wantFile{units: []string{"east", "west"}, kwh: []float64{dayKWh(), 2 * dayKWh()}, rows: 192, step: 15 * time.Minute, first: "2025-06-01T00:00:00Z", decide: "different units"})

	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, name := range []string{"a/", "a/one.csv"} {
		text := ""
		if strings.HasSuffix(name, ".csv") {
			text = plainCSV(0, 96, 1)
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkFile(t, gzipped(t, buf.Bytes()), ingest.Options{}, wantFile{units: []string{""}, kwh: []float64{dayKWh()}, rows: 96, step: 15 * time.Minute, first: "2025-06-01T00:00:00Z", decide: "gzip, then tar"})

	refused(t, zipped(t, "readme.txt", "Hello\n", "b.csv", "time,colour\n2025-06-01 10:00,red\n"), ingest.NoPowerOrEnergy, "b.csv: ")
	refused(t, zipped(t), ingest.NoDataRows, "no file")
	refused(t, days[:len(days)-60], ingest.NotText, "zip archive")
	refused(t, zipped(t, "xl/workbook.bin", "x"), ingest.NotText, ".xlsx or CSV")
}

// TestExpansion: files that expand to more than any export are refused before they take memory.
func TestExpansion(t *testing.T) {
	zeros := bytes.Repeat([]byte("2025-06-01 10:00,1\n"), 50_000)
	refused(t, gzipped(t, zeros), ingest.TooLarge, "split the file")
	refused(t, zipped(t, "a.csv", string(zeros)), ingest.TooLarge, "split the file")
	nested := []byte("time,power\n")
	for range 6 {
		nested = gzipped(t, nested)
	}
	refused(t, nested, ingest.TooLarge, "within each other")
	rows := `<worksheet><sheetData>` + strings.Repeat(`<row><c t="inlineStr"><is><t>x</t></is></c><c r="XFD1"><v>1</v></c></row>`, 1000) + `</sheetData></worksheet>`
	refused(t, workbook(t, rows), ingest.TooLarge, "split the file")
	refused(t, workbook(t, `<worksheet><sheetData>`+strings.Repeat(" ", 9<<20)+`</sheetData></worksheet>`), ingest.TooLarge, "")
	many := make([]string, 0, 8000)
	for i := range 2100 {
		many = append(many, fmt.Sprint(i), "")
	}
	refused(t, zipped(t, many...), ingest.TooLarge, "more than 2000 files")
}

// workbook returns a workbook with one sheet, written by ECMA-376.
func workbook(t *testing.T, sheet string) []byte {
	t.Helper()
	return zipped(t, "[Content_Types].xml", "<Types/>",
		"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="Data" sheetId="1" r:id="rId7"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="rId7" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/sharedStrings.xml", `<sst><si><t>Zeit</t></si><si><r><t>Leistung </t></r><r><t>(kW)</t></r><rPh><t>x</t></rPh></si></sst>`,
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[$-407]dd/mm/yyyy\ hh:mm;@"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
		"xl/worksheets/sheet1.xml", sheet)
}

func TestWorkbooks(t *testing.T) {
	data, err := os.ReadFile("format/testdata/excelize.xlsx") // by excelize 2.11: two inverters of 5 kW and 90 % of it
	if err != nil {
		t.Fatal(err)
	}
	checkFile(t, data, ingest.Options{}, wantFile{units: []string{"Inverter 1", "Inverter 2"}, kwh: []float64{44.535, 40.081}, rows: 192, step: 15 * time.Minute, first: "2025-06-01T00:00:00Z", decide: "hidden sheets are not read: Raw"})
	refused(t, data[:len(data)/2], ingest.NotText, "spreadsheet or zip archive")

	head := `<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>`
	checkFile(t, workbook(t, head+`<row r="3"><c r="A3" s="2"><v>45809.41666666666</v></c><c r="B3"><v>1.5</v></c></row><row r="4"><c r="A4" s="1"><v>45809.4375</v></c><c r="B4"><v>2.5E-1</v></c></row><row><c s="1"><v>45809.458333</v></c><c t="e"><v>#N/A</v></c></row></sheetData></worksheet>`),
		ingest.Options{}, wantFile{units: []string{""}, kwh: []float64{0.875}, rows: 2, step: 30 * time.Minute, first: "2025-06-01T10:00:00Z"})
	refused(t, workbook(t, head+`</sheetData></worksheet>`), ingest.NoDataRows, "no data row")
	refused(t, workbook(t, `<worksheet><sheetData/></worksheet>`), ingest.NoDataRows, "no visible sheet with values")
	refused(t, workbook(t, head+`<row r="3"><c r="A3`), ingest.NotText, "incomplete")
	refused(t, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 workbook"), ingest.NotText, "save it as .xlsx or CSV")
	refused(t, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00"), ingest.NotText, "password")
}

// odsOf returns a spreadsheet of OpenDocument 1.2 with the rows of one table.
func odsOf(t *testing.T, rows string) []byte {
	t.Helper()
	return zipped(t, "mimetype", "application/vnd.oasis.opendocument.spreadsheet", "content.xml",
		`<?xml version="1.0"?><office:document-content><office:body><office:spreadsheet><table:table table:name="Tabelle1"><table:table-column table:number-columns-repeated="2"/>`+rows+`</table:table></office:spreadsheet></office:body></office:document-content>`)
}

func TestODS(t *testing.T) {
	head := `<table:table-row><table:table-cell office:value-type="string"><text:p>Zeit</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>Leistung<text:s/>(kW)</text:p></table:table-cell></table:table-row>`
	row := func(at, kw string) string {
		return `<table:table-row><table:table-cell office:value-type="date" office:date-value="` + at + `"><text:p>shown</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="` + kw + `"><text:p>0,5</text:p></table:table-cell><table:table-cell table:number-columns-repeated="1022"/></table:table-row>`
	}
	blank := `<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="1024"/></table:table-row>`
	want := wantFile{units: []string{""}, kwh: []float64{1.75}, rows: 2, step: 30 * time.Minute, first: "2025-06-01T10:00:00Z"}
	checkFile(t, odsOf(t, head+row("2025-06-01T10:00:00", "1.25")+row("2025-06-01T10:30:00", "2.25")+blank), ingest.Options{}, want)
	refused(t, odsOf(t, blank), ingest.NoDataRows, "no table with values")
	refused(t, odsOf(t, head+strings.Replace(row("2025-06-01T10:00:00", "1"), "<table:table-row>", `<table:table-row table:number-rows-repeated="1000000">`, 1)), ingest.TooLarge, "repeats a row")
	refused(t, odsOf(t, head+`<table:table-row><table:ta`), ingest.NotText, "")
}

func TestHTML(t *testing.T) {
	page := `<html><head><style>td{x:"<table>"}</style></head><body><table><tr><td>
<table border=1><tr><th colspan=3>Produktionsbericht</th></tr><tr><th rowspan=2>Zeit</th><th>WR&nbsp;1</th><th>WR 2</th></tr><tr><th>Leistung (kW)</th><th>Leistung (kW)</th></tr>
<tr><td>01.06.2025 10:00</td><td x:num="1.5">1,5</td><td>2,5</td></tr><tr><td>01.06.2025 10:30<td>1,25<td>2,25</tr></table></td></tr></table></body></html>`
	checkFile(t, []byte(page), ingest.Options{}, wantFile{units: []string{"WR 1", "WR 2"}, kwh: []float64{1.375, 2.375}, rows: 4, step: 30 * time.Minute, first: "2025-06-01T10:00:00Z", decide: "HTML table"})
	refused(t, []byte("<!DOCTYPE html><html><body><form>Sign in</form></body></html>"), ingest.NoDataRows, "sign-in of a portal")
	refused(t, []byte("<gpx><trk/></gpx>"), ingest.NotCSV, `XML with the element "gpx"`)

	xml := `<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet ss:Name="Data"><Table>
<Row><Cell><Data ss:Type="String">Time</Data></Cell><Cell ss:Index="3"><Data ss:Type="String">Power (kW)</Data></Cell></Row>
<Row ss:Index="3"><Cell><Data ss:Type="DateTime">2025-06-01T10:00:00.000</Data></Cell><Cell ss:Index="3"><Data ss:Type="Number">1.5</Data></Cell></Row>
<Row><Cell><Data ss:Type="DateTime">2025-06-01T10:30:00.000</Data></Cell><Cell ss:Index="3"><Data ss:Type="Number">2.5</Data></Cell></Row></Table></Worksheet></Workbook>`
	checkFile(t, []byte(xml), ingest.Options{}, wantFile{units: []string{""}, kwh: []float64{2}, rows: 2, step: 30 * time.Minute, first: "2025-06-01T10:00:00Z", decide: "XML Spreadsheet 2003"})
	refused(t, []byte(xml[:len(xml)-60]), ingest.NotCSV, "incomplete")
}
